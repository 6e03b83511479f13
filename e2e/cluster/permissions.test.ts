import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { KEPT, MANAGEMENT_PERMISSIONS } from '#operator/kubernetes/rbac/management-permissions';
import { OPERATOR_PERMISSIONS, OWN_GROUP, OWN_NAME, type Permission } from '#operator/kubernetes/rbac/rbac';
import { applyRoles } from './accounts.ts';
import { NAMESPACED, ownGroup } from './chart.ts';
import { eventually } from '../local/run-vmcp.ts';
import { backend, group, installDefinitions, server, Stage } from './stage.ts';
import { startOperator } from './start-operator.ts';
import { describeWithCluster, type Namespace } from './use-cluster.ts';

const VERBS = [
  'get',
  'list',
  'watch',
  'create',
  'update',
  'patch',
  'delete',
  'deletecollection',
  'bind',
  'escalate',
  'impersonate',
  'use',
];
/** The right of every account: to review itself. */
const EVERYBODY = /^create self\w+reviews\./;
/** Number of concurrent requests. */
const TOGETHER = 24;
const MINUTES = 120_000;

/** An installation of the chart. */
interface Installation {
  what: string;
  values: string[];
  /** The features that the values enable. */
  on: Permission['when'][];
  /** Suffix of the account's name; it selects the account and its table. */
  account: '' | '-management';
  permissions: readonly Permission[];
  /** Whether the installation is for some namespaces, without rights in any other. */
  narrow: boolean;
}

const OPERATOR = { account: '', permissions: OPERATOR_PERMISSIONS } as const;
const MANAGEMENT = { account: '-management', permissions: MANAGEMENT_PERMISSIONS } as const;
const ALL = '--set=management.enabled=true,stdio.attach=true';
const SOME = [NAMESPACED, '--set=management.enabled=true,management.reviewsBound=true'];

const INSTALLATIONS: Installation[] = [
  { what: 'the operator, installed by default', values: [], on: ['webhook.enabled'], narrow: false, ...OPERATOR },
  {
    what: 'the operator, installed with the management API, and with the right to attach',
    values: [ALL],
    on: ['stdio.attach', 'webhook.enabled'],
    narrow: false,
    ...OPERATOR,
  },
  { what: 'the operator, installed for some namespaces', values: SOME, on: [], narrow: true, ...OPERATOR },
  { what: 'the management API', values: [ALL], on: [], narrow: false, ...MANAGEMENT },
  { what: 'the management API, installed for some namespaces', values: SOME, on: [], narrow: true, ...MANAGEMENT },
];

interface Question {
  group: string;
  resource: string;
  verb: string;
  namespace?: string;
  name?: string;
}

/** The account under review. */
interface Account {
  user: string;
  /** API group of the kinds of its installation. */
  apiGroup: string;
}

describeWithCluster('the rights of accounts, by the API server,', (cluster) => {
  let own: Namespace;
  let other: Namespace;
  let strange: Namespace;
  /** Our kinds are under OWN_GROUP. */
  let resources: { group: string; resource: string; namespaced: boolean }[];

  beforeAll(async () => {
    own = await cluster.makeNamespace('permissions');
    other = await cluster.makeNamespace('permissions-other');
    strange = await cluster.makeNamespace('permissions-strange');
    await installDefinitions(cluster);
    resources = await discover();
  }, MINUTES);
  afterAll(async () => {
    for (const namespace of [own, other, strange]) await namespace.delete();
  });

  /** Lists every resource and subresource of the API server; our kinds under the API group of this installation. */
  async function discover() {
    const { body } = await cluster.ask('GET', '/apis');
    const groups = body as { groups: { preferredVersion: { groupVersion: string } }[] };
    const paths = ['/api/v1', ...groups.groups.map(({ preferredVersion }) => `/apis/${preferredVersion.groupVersion}`)];
    const lists = await Promise.all(paths.map(async (path) => ({ path, ...(await cluster.ask('GET', path)) })));
    const listed = lists.flatMap(({ path, body: list }) => {
      const [, , name = ''] = /^\/(api|apis\/([^/]+))\//.exec(path) ?? [];
      if (name.endsWith('.test')) return [];
      const found = (list as { resources?: { name: string; namespaced: boolean }[] }).resources ?? [];
      return found.map((one) => ({
        group: name === 'vmcp.dev' ? OWN_GROUP : name,
        resource: one.name,
        namespaced: one.namespaced,
      }));
    });
    // The API server does not list the resources of rights to finalizers and records.
    const records = KEPT.map((resource) => ({ group: OWN_GROUP, resource, namespaced: true }));
    const owners = listed.filter(({ group: name, resource }) => name === OWN_GROUP && !resource.includes('/'));
    return [...listed, ...records, ...owners.map((owner) => ({ ...owner, resource: `${owner.resource}/finalizers` }))];
  }

  async function mayDo({ user, apiGroup }: Account, { group: name, ...question }: Question): Promise<boolean> {
    const [resource, subresource] = question.resource.split('/');
    const asked = { ...question, group: name === OWN_GROUP ? apiGroup : name, resource };
    const { status, body } = await cluster.ask('POST', '/apis/authorization.k8s.io/v1/subjectaccessreviews', {
      apiVersion: 'authorization.k8s.io/v1',
      kind: 'SubjectAccessReview',
      spec: {
        user: `system:serviceaccount:${own.name}:${user}`,
        groups: ['system:serviceaccounts', `system:serviceaccounts:${own.name}`, 'system:authenticated'],
        resourceAttributes: { ...asked, ...(subresource && { subresource }) },
      },
    });
    expect(status).toBe(201);
    return (body as { status: { allowed: boolean } }).status.allowed;
  }

  const textOf = ({ group: name, resource, verb }: Question) => `${verb} ${resource}${name === '' ? '' : `.${name}`}`;

  /** Returns all rights of an account in a namespace, or cluster-wide without one, except those of every account. */
  async function allowed(account: Account, namespace?: string): Promise<string[]> {
    const questions = resources
      .filter(({ namespaced }) => namespaced === (namespace !== undefined))
      .flatMap(({ group: name, resource }) =>
        VERBS.map((verb): Question => ({ group: name, resource, verb, ...(namespace && { namespace }) })),
      );
    const found: string[] = [];
    for (let at = 0; at < questions.length; at += TOGETHER) {
      const asked = questions.slice(at, at + TOGETHER);
      const answers = await Promise.all(asked.map((question) => mayDo(account, question)));
      found.push(...asked.filter((_, index) => answers[index]).map(textOf));
    }
    return [...new Set(found)].filter((one) => !EVERYBODY.test(one)).sort();
  }

  describe.each(INSTALLATIONS)('of $what', ({ values, on, narrow, account: suffix, permissions }) => {
    const apiGroup = ownGroup('permissions');
    const release = `vmcp-${apiGroup.replace('.test', '')}`;
    const user = release + suffix;
    const account = { user, apiGroup };
    let takeAway = () => Promise.resolve();
    beforeAll(async () => {
      const some = narrow ? [`--set=watchNamespaces={${other.name}}`] : [];
      const all = [`--set=apiGroup=${apiGroup}`, '--set=rbac.aggregate=false', ...values, ...some];
      takeAway = await applyRoles(cluster, release, own.name, all);
    }, MINUTES);
    afterAll(() => takeAway());

    const isGiven = ({ when }: Permission) => when === undefined || on.includes(when);

    /** Returns the rights from the table. A permission for named objects only is no permission for all. */
    function listed(...scopes: Permission['scope'][]): string[] {
      const known = new Set(resources.map(({ group: name, resource }) => `${resource}.${name}`));
      const all = permissions
        .filter((one) => scopes.includes(one.scope) && isGiven(one) && !one.names)
        .flatMap(({ group: name = '', resources: of = [], verbs }) =>
          of.flatMap((resource) => verbs.map((verb) => ({ group: name, resource, verb }))),
        );
      for (const { group: name, resource } of all) expect(known).toContain(`${resource}.${name}`);
      return [...new Set(all.map(textOf))].sort();
    }

    it(
      'equal the table in a watched namespace',
      async () => {
        expect(await allowed(account, other.name)).toEqual(listed('watched'));
      },
      MINUTES,
    );

    it(
      'equal the table in its own namespace',
      async () => {
        expect(await allowed(account, own.name)).toEqual(narrow ? listed('own') : listed('watched', 'own'));
      },
      MINUTES,
    );

    if (narrow) {
      it(
        'exclude namespaces that it does not watch',
        async () => {
          expect(await allowed(account, strange.name)).toEqual([]);
        },
        MINUTES,
      );
    }

    it(
      'equal the table for cluster-wide resources, besides those of every account',
      async () => {
        expect(await allowed(account)).toEqual(narrow ? [] : listed('cluster'));
      },
      MINUTES,
    );

    it('equal the table for named objects, and exclude others', async () => {
      const forAll = narrow ? listed('own') : listed('watched', 'own', 'cluster');
      for (const permission of permissions) {
        const { group: name = '', resources: of = [], names = [], verbs, scope } = permission;
        const isNamed = isGiven(permission) && !(narrow && scope === 'cluster');
        const questions = of.flatMap((resource) => verbs.map((verb): Question => ({ group: name, resource, verb })));
        for (const [question, pattern] of questions.flatMap((one) => names.map((each) => [one, each] as const))) {
          const object = pattern.replace(OWN_NAME, release);
          const isForAll = forAll.includes(textOf(question));
          const where = { ...question, ...(scope === 'own' && { namespace: own.name }) };
          const asked = [object, `${object}-2`].map((each) => mayDo(account, { ...where, name: each }));
          const answers = await Promise.all(asked);
          expect([textOf(question), object, ...answers]).toEqual([
            textOf(question),
            object,
            isNamed || isForAll,
            isForAll,
          ]);
        }
      }
    });
  });

  it('contain none for a runtime beyond those of every account', async () => {
    const stage = new Stage(cluster, own);
    const operator = await startOperator(cluster, [own.name]);
    try {
      await stage.apply(
        group('tools'),
        backend('away', { remoteUrl: 'https://away.example/mcp', groupRef: 'tools' }),
        server('demo', 'tools'),
      );
      await eventually(
        () => stage.get('ServiceAccount', 'vmcp-demo'),
        (made) => made !== undefined,
        60_000,
      );
      const account = { user: 'vmcp-demo', apiGroup: 'vmcp.dev' };
      expect(await allowed(account, own.name)).toEqual([]);
      expect(await allowed(account)).toEqual([]);
    } finally {
      await operator.stop();
    }
  }, 180_000);
});
