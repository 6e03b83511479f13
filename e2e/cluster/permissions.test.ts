import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { parseAllDocuments } from 'yaml';
import { OPERATOR_PERMISSIONS, OWN_GROUP, OWN_NAME, type Permission } from '#operator/kubernetes/rbac/rbac';
import { ownGroup, renderChart } from './chart.ts';
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
const ROLES = new Set(['ServiceAccount', 'Role', 'ClusterRole', 'RoleBinding', 'ClusterRoleBinding']);
/** What every account may: ask about itself. */
const EVERYBODY = /^create self\w+reviews\./;
/** Asked at once. */
const TOGETHER = 24;
/** What the chart switches on by default. */
const ON = new Set(['stdio.attach', 'webhook.enabled']);

interface Question {
  group: string;
  resource: string;
  verb: string;
  namespace?: string;
  name?: string;
}

interface Made {
  kind: string;
  metadata: { name: string };
}

describeWithCluster('what accounts may do, asked of the API server', (cluster) => {
  let own: Namespace;
  let other: Namespace;
  let account: string;
  let resources: { group: string; resource: string; namespaced: boolean }[];
  let cleanUp: string;
  const apiGroup = ownGroup('permissions');
  const release = apiGroup.replace('.test', '');

  beforeAll(async () => {
    [own, other] = [await cluster.makeNamespace('permissions'), await cluster.makeNamespace('permissions-other')];
    const values = [`--set=apiGroup=${apiGroup}`, '--set=rbac.aggregate=false', `--namespace=${own.name}`];
    const made = parseAllDocuments(await renderChart(values, release))
      .map((document) => document.toJS() as Made | null)
      .filter((object): object is Made => object !== null && ROLES.has(object.kind));
    account = made.find(({ kind }) => kind === 'ServiceAccount')?.metadata.name ?? '';
    cleanUp = JSON.stringify({ apiVersion: 'v1', kind: 'List', items: made });
    const applied = await cluster.kubectl(['-n', own.name, 'apply', '-f', '-'], cleanUp);
    expect([applied.code, applied.stderr]).toEqual([0, '']);
    await installDefinitions(cluster);
    resources = await discover();
  }, 120_000);
  afterAll(async () => {
    await cluster.kubectl(['-n', own.name, 'delete', '--ignore-not-found', '--wait=false', '-f', '-'], cleanUp);
    await own.delete();
    await other.delete();
  });

  /** Every resource and subresource that the API server has; our kinds under the group of this installation. */
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
        group: name === 'vmcp.dev' ? apiGroup : name,
        resource: one.name,
        namespaced: one.namespaced,
      }));
    });
    // The right to hold an owner back is one to a resource that the API server does not list.
    const owners = listed.filter(({ group: name, resource }) => name === apiGroup && !resource.includes('/'));
    return [...listed, ...owners.map((owner) => ({ ...owner, resource: `${owner.resource}/finalizers` }))];
  }

  async function mayDo(user: string, { group: name, ...question }: Question): Promise<boolean> {
    const [resource, subresource] = question.resource.split('/');
    const { status, body } = await cluster.ask('POST', '/apis/authorization.k8s.io/v1/subjectaccessreviews', {
      apiVersion: 'authorization.k8s.io/v1',
      kind: 'SubjectAccessReview',
      spec: {
        user: `system:serviceaccount:${own.name}:${user}`,
        groups: ['system:serviceaccounts', `system:serviceaccounts:${own.name}`, 'system:authenticated'],
        resourceAttributes: { ...question, group: name, resource, ...(subresource && { subresource }) },
      },
    });
    expect(status).toBe(201);
    return (body as { status: { allowed: boolean } }).status.allowed;
  }

  const textOf = ({ group: name, resource, verb }: Question) => `${verb} ${resource}${name === '' ? '' : `.${name}`}`;

  /** All that an account may do in a namespace; without one, on what has none. */
  async function allowed(user: string, namespace?: string): Promise<string[]> {
    const questions = resources
      .filter(({ namespaced }) => namespaced === (namespace !== undefined))
      .flatMap(({ group: name, resource }) =>
        VERBS.map((verb): Question => ({ group: name, resource, verb, ...(namespace && { namespace }) })),
      );
    const found: string[] = [];
    for (let at = 0; at < questions.length; at += TOGETHER) {
      const asked = questions.slice(at, at + TOGETHER);
      const answers = await Promise.all(asked.map((question) => mayDo(user, question)));
      found.push(...asked.filter((_, index) => answers[index]).map(textOf));
    }
    return [...new Set(found)].sort();
  }

  const isOn = ({ when }: Permission) => when === undefined || ON.has(when);

  /** The same from the table. A permission for named objects alone is none for all. */
  function listed(...scopes: Permission['scope'][]): string[] {
    const known = new Set(resources.map(({ group: name, resource }) => `${resource}.${name}`));
    const all = OPERATOR_PERMISSIONS.filter((one) => scopes.includes(one.scope) && isOn(one) && !one.names).flatMap(
      ({ group: name = '', resources: of = [], verbs }) =>
        of.flatMap((resource) =>
          verbs.map((verb) => ({ group: name === OWN_GROUP ? apiGroup : name, resource, verb })),
        ),
    );
    for (const { group: name, resource } of all) expect(known).toContain(`${resource}.${name}`);
    return [...new Set(all.map(textOf))].sort();
  }

  describe('the operator', () => {
    it('may do in every namespace what the table says, and nothing else', async () => {
      expect(await allowed(account, other.name)).toEqual(listed('watched'));
    }, 120_000);

    it('may do in its own namespace what the table says besides', async () => {
      expect(await allowed(account, own.name)).toEqual(listed('watched', 'own'));
    }, 120_000);

    it('may do with what has no namespace what the table says, besides what everybody may', async () => {
      expect((await allowed(account)).filter((one) => !EVERYBODY.test(one))).toEqual(listed('cluster'));
    }, 120_000);

    it('may do with named objects what the table says, and not with others', async () => {
      const named = OPERATOR_PERMISSIONS.filter((one) => one.names && isOn(one));
      for (const { group: name = '', resources: of = [], names = [], verbs, scope } of named) {
        for (const resource of of) {
          for (const verb of verbs) {
            const question = {
              group: name,
              resource,
              verb,
              ...(scope === 'own' ? { namespace: own.name } : {}),
            };
            for (const object of names.map((pattern) => pattern.replace(OWN_NAME, account))) {
              expect([textOf(question), object, await mayDo(account, { ...question, name: object })]).toEqual([
                textOf(question),
                object,
                true,
              ]);
            }
          }
        }
      }
    });
  });

  it('a runtime may do what everybody may: it has no right in the cluster', async () => {
    const stage = new Stage(cluster, own);
    const operator = startOperator(cluster, [own.name]);
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
      expect(await allowed('vmcp-demo', own.name)).toEqual([]);
      expect((await allowed('vmcp-demo')).filter((one) => !EVERYBODY.test(one))).toEqual([]);
    } finally {
      await operator.stop();
    }
  }, 180_000);
});
