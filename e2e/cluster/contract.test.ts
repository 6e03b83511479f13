import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { KIND_NAMES, type KindName } from '#crds/kinds/index';
import { ACCEPTED, REFUSED } from '#local/testdata/manifests';
import { collectionOf, readObjects, WAYS, type Written } from './send-manifests.ts';
import { installDefinitions } from './stage.ts';
import { describeWithCluster, type Namespace } from './use-cluster.ts';

const ROOT = join(import.meta.dirname, '../..');
const CRDS = join(ROOT, 'crds/manifests');
const TABLE = 'application/json;as=Table;v=v1;g=meta.k8s.io';
const API = 'vmcp.dev/v1alpha1';

/**
 * Only the planner checks unknown fields, other objects, durations in days, numbers in texts, and lists of headers. The
 * definitions' rules cannot.
 */
const ONLY_THE_PLANNER_REFUSES = new Set([
  'an audit log whose path has a NUL character',
  'a credential in a header of the protocol',
  'rate limits under config',
  'the address range 10.0.0.0/99',
  'the address range 10.0.0.256/8',
  'the address range fd00::/129',
  'the address range a::b::c/8',
  'the Redis address redis.example:99999',
  'the Redis address redis.example:0',
  'the Redis address a:b:c',
  'a Sentinel of an impossible port',
  'the same resource twice',
  'two wrong documents in one file',
  'a Secret whose data is not text',
  'a misspelt field',
  'a name that no backend can have',
  'a secret written out',
  'audience at a shared issuer',
  'an access token of two days',
  'a misspelt limit',
  'an unknown field that resembles none',
]);

/** Files for the command line only: no resource, another API group, a status that no client could write. */
const NOT_FOR_THE_API_SERVER = new Set([
  'another API group',
  'several documents, empty ones and comments',
  'what kubectl prints of a live resource',
]);

interface Definition {
  spec: { group: string };
  status: { conditions: { type: string; status: string }[] };
}

describeWithCluster('the definitions on a real API server', (cluster) => {
  let namespace: Namespace;
  let path: (kind: string, name?: string) => string;

  beforeAll(async () => {
    await installDefinitions(cluster);
    namespace = await cluster.makeNamespace('contract');
    path = (kind, name) => {
      const collection = collectionOf({ apiVersion: API, kind, metadata: {} }, namespace.name);
      return name === undefined ? collection : `${collection}/${name}`;
    };
  });
  afterAll(() => namespace.delete());

  /**
   * Sends each object of a file to the API server and collects the answers. kubectl refuses a document that is no
   * object.
   */
  async function send(way: string, text: string): Promise<{ refused: boolean; said: string[] }> {
    let objects: Written[];
    try {
      objects = readObjects(text);
    } catch (problem) {
      return { refused: true, said: [String(problem)] };
    }
    const answers = await Promise.all(
      objects.map(async (object) => {
        if (typeof object.kind !== 'string' || typeof object.apiVersion !== 'string') return undefined;
        const metadata = { ...object.metadata, namespace: namespace.name };
        return WAYS[way]!(cluster, { ...object, metadata }, namespace.name);
      }),
    );
    return {
      refused: answers.some((answer) => answer === undefined || answer.status >= 300),
      said: answers.map((answer) => `${answer?.status} ${answer?.body.message ?? ''}`),
    };
  }

  it.each(readdirSync(CRDS))('take %s by create, within the cost limit of their rules', async (file) => {
    const crd = readFileSync(join(CRDS, file), 'utf8').replaceAll('vmcp.dev', 'contract.test');
    const { code, stderr } = await cluster.kubectl(['create', '--dry-run=server', '-f', '-'], crd);
    expect([code, stderr]).toEqual([0, '']);
  });

  it('establish the five kinds, without a warning about their schemas', async () => {
    const { body } = await cluster.ask('GET', '/apis/apiextensions.k8s.io/v1/customresourcedefinitions');
    const { items } = body as { items: Definition[] };
    const ours = items.filter(({ spec }) => spec.group === 'vmcp.dev');
    expect(ours).toHaveLength(5);
    for (const { status } of ours) {
      const states = Object.fromEntries(status.conditions.map(({ type, status: is }) => [type, is]));
      expect(states).toEqual({ NamesAccepted: 'True', Established: 'True' });
    }
  });

  describe.each(Object.keys(WAYS))('%s', (way) => {
    it.each(ACCEPTED.filter(({ of }) => !NOT_FOR_THE_API_SERVER.has(of)))('accept $of', async ({ text }) => {
      expect(await send(way, text)).toMatchObject({ refused: false });
    });

    it.each(REFUSED.filter(({ of }) => !ONLY_THE_PLANNER_REFUSES.has(of)))('refuse $of', async ({ text }) => {
      expect(await send(way, text)).toMatchObject({ refused: true });
    });

    it.each(REFUSED.filter(({ of }) => ONLY_THE_PLANNER_REFUSES.has(of)))(
      'leave it to the planner to refuse $of',
      async ({ text }) => {
        expect(await send(way, text)).toMatchObject({ refused: false });
      },
    );
  });

  describe('create', () => {
    it.each([
      [
        'what CEL says',
        { kind: 'VirtualMCPServer', spec: { config: { groupRef: 'team' }, incomingAuth: { type: 'oidc' } } },
        'spec.incomingAuth',
      ],
      ['a wrong word', { kind: 'MCPServer', spec: { image: 'a', transport: 'pigeon' } }, 'spec.transport'],
      ['a name of 46 letters', { kind: 'MCPGroup', metadata: { name: 'a'.repeat(46) } }, 'metadata.name'],
    ])('names the field in %s', async (_, object, field) => {
      const { status, body } = await cluster.ask('POST', path(object.kind), {
        apiVersion: API,
        metadata: { name: 'demo' },
        ...object,
      });
      expect([status, body.reason]).toEqual([422, 'Invalid']);
      expect(body.message).toContain(field);
    });
  });

  it('keeps an unknown field, so that the planner can refuse it by name', async () => {
    const object = { apiVersion: API, kind: 'MCPGroup', metadata: { name: 'keeps' }, spec: { descripton: 'misspelt' } };
    expect((await cluster.apply(path('MCPGroup', 'keeps'), object)).status).toBe(201);
    expect((await cluster.ask('GET', path('MCPGroup', 'keeps'))).body.spec).toEqual({ descripton: 'misspelt' });
  });

  it.each(['Strict', 'Warn', 'Ignore'])(
    'names a missing field and not the misspelt one beside it, with field validation %s',
    async (validation) => {
      const spec = { config: { groupReff: 'team' }, incomingAuth: { type: 'anonymous' } };
      const object = { apiVersion: API, kind: 'VirtualMCPServer', metadata: { name: 'misspelt' }, spec };
      const { status, body } = await cluster.ask(
        'POST',
        `${path('VirtualMCPServer')}?fieldValidation=${validation}`,
        object,
      );
      expect([status, body.message]).toEqual([422, expect.stringContaining('spec.config.groupRef: Required value')]);
      expect(body.message).not.toContain('groupReff');
    },
  );

  it.each<[KindName, object, object]>([
    [
      'VirtualMCPServer',
      { config: { groupRef: 'team' }, incomingAuth: { type: 'anonymous' } },
      { outgoingAuth: { source: 'discovered' }, serviceType: 'ClusterIP' },
    ],
    ['MCPServer', { image: 'a' }, { stdioProcess: 'shared', trustProxyHeaders: false }],
    [
      'MCPOIDCConfig',
      { type: 'inline', inline: { issuer: 'https://a.example.com' } },
      {
        inline: {
          issuer: 'https://a.example.com',
          insecureAllowHTTP: false,
          protectedResourceAllowPrivateIP: false,
        },
      },
    ],
  ])('fills in the defaults of %s', async (kind, spec, defaults) => {
    const object = { apiVersion: API, kind, metadata: { name: 'defaults' }, spec };
    const { status, body } = await cluster.ask('POST', path(kind), object);
    expect([status, body.spec]).toEqual([201, { ...spec, ...defaults }]);
  });

  it('accept the spec only at the object, and the status only at its subresource', async () => {
    const group = (more: object) => ({ apiVersion: API, kind: 'MCPGroup', metadata: { name: 'status' }, ...more });
    const created = await cluster.ask('POST', path('MCPGroup'), group({ status: { phase: 'Ready' } }));
    expect([created.status, created.body.status?.phase]).toEqual([201, undefined]);
    const reported = await cluster.apply(
      `${path('MCPGroup', 'status')}/status`,
      group({ status: { phase: 'Ready', serverCount: 2, observedGeneration: 1 }, spec: { description: 'sly' } }),
      { manager: 'vmcp-operator' },
    );
    expect([reported.status, reported.body.status.phase]).toEqual([200, 'Ready']);
    expect(reported.body.spec).not.toHaveProperty('description');
    expect(reported.body.metadata.generation).toBe(created.body.metadata.generation);
    const edited = await cluster.apply(path('MCPGroup', 'status'), group({ spec: { description: 'edited' } }));
    expect([edited.body.status.phase, edited.body.metadata.generation]).toEqual(['Ready', 2]);
  });

  it.each<[KindName, string[], string[]]>([
    ['VirtualMCPServer', ['Name', 'Phase', 'URL', 'Backends', 'Tools', 'Reason', 'Age'], ['Group', 'Ready']],
    ['MCPServer', ['Name', 'Phase', 'Group', 'Transport', 'Reason', 'Age'], ['Tools', 'URL', 'Ready']],
    ['MCPGroup', ['Name', 'Phase', 'Servers', 'Reason', 'Age'], ['Ready']],
    ['MCPExternalAuthConfig', ['Name', 'Type', 'References', 'Reason', 'Age'], ['Ready']],
    ['MCPOIDCConfig', ['Name', 'Type', 'References', 'Reason', 'Age'], ['Issuer', 'Ready']],
  ])('give kubectl get columns for %s', async (kind, always, wide) => {
    const { body } = await cluster.ask('GET', path(kind), undefined, { accept: TABLE });
    const columnDefinitions = body.columnDefinitions as { name: string; priority: number }[];
    const names = (shown: (priority: number) => boolean) =>
      columnDefinitions.filter(({ priority }) => shown(priority)).map(({ name }) => name);
    expect(names((priority) => priority === 0)).toEqual(always);
    expect(names((priority) => priority > 0)).toEqual(wide);
  });

  it('give kubectl the short names and the category', async () => {
    const { stdout } = await cluster.kubectl(['api-resources', '--api-group=vmcp.dev', '--no-headers', '-o', 'wide']);
    const listed = stdout
      .trim()
      .split('\n')
      .map((line) => line.split(/ +/));
    expect(listed.map(([plural, short]) => [plural, short]).sort()).toEqual(
      Object.values(KIND_NAMES)
        .map(({ plural, shortName }) => [plural, shortName])
        .sort(),
    );
    for (const line of listed) expect(line.at(-1)).toBe('mcp');
  });

  it('explain fields', async () => {
    const { stdout } = await cluster.kubectl([
      'explain',
      'virtualmcpservers.spec.incomingAuth.type',
      `--api-version=${API}`,
    ]);
    expect(stdout).toMatch(/FIELD: type <string>/);
  });

  it('scale a VirtualMCPServer by its scale subresource', async () => {
    const spec = { config: { groupRef: 'team' }, incomingAuth: { type: 'anonymous' }, replicas: 1 };
    await cluster.apply(path('VirtualMCPServer', 'scaled'), {
      apiVersion: API,
      kind: 'VirtualMCPServer',
      metadata: { name: 'scaled' },
      spec,
    });
    const scaled = await cluster.kubectl([
      '-n',
      namespace.name,
      'scale',
      'virtualmcpservers.vmcp.dev/scaled',
      '--replicas=3',
    ]);
    expect([scaled.code, scaled.stderr]).toEqual([0, '']);
    expect((await cluster.ask('GET', path('VirtualMCPServer', 'scaled'))).body.spec.replicas).toBe(3);
  });

  it('report a conflict to another manager of server-side apply, and keep the other fields of the first after force', async () => {
    const object = (spec: object) => ({ apiVersion: API, kind: 'MCPServer', metadata: { name: 'shared' }, spec });
    const at = path('MCPServer', 'shared');
    await cluster.apply(at, object({ image: 'a', groupRef: 'team' }), { manager: 'git' });
    const other = object({ image: 'b' });
    const refused = await cluster.apply(at, other, { manager: 'person', force: false });
    expect([refused.status, refused.body.reason]).toEqual([409, 'Conflict']);
    expect(refused.body.message).toContain('.spec.image');
    const forced = await cluster.apply(at, other, { manager: 'person' });
    expect([forced.status, forced.body.spec]).toMatchObject([200, { image: 'b', groupRef: 'team' }]);
  });

  it('merge lists of named entries by their names', async () => {
    const object = (name: string) => ({
      apiVersion: API,
      kind: 'MCPServer',
      metadata: { name: 'lists' },
      spec: { image: 'a', env: [{ name, value: '1' }] },
    });
    const at = path('MCPServer', 'lists');
    await cluster.apply(at, object('A'), { manager: 'git' });
    const { status, body } = await cluster.apply(at, object('B'), { manager: 'person', force: false });
    expect([status, body.spec.env]).toEqual([
      200,
      [
        { name: 'A', value: '1' },
        { name: 'B', value: '1' },
      ],
    ]);
  });

  it('refuse an update with an old resource version as a conflict', async () => {
    const at = path('MCPGroup', 'versions');
    const object = { apiVersion: API, kind: 'MCPGroup', metadata: { name: 'versions' } };
    const { body } = await cluster.ask('POST', path('MCPGroup'), object);
    await cluster.ask('PUT', at, { ...body, spec: { description: 'first' } });
    expect((await cluster.ask('PUT', at, { ...body, spec: { description: 'second' } })).status).toBe(409);
  });
});
