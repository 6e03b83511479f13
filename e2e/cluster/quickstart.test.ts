import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Client } from '@modelcontextprotocol/client';
import { OAuthClient } from '../authserver/oauth-client.ts';
import { type Rpc, SessionClient } from '../gateway/session-client.ts';
import type { Program } from '../gateway/start-program.ts';
import { callTool, connect } from '../local/call-tool.ts';
import { movePorts } from '../local/example.ts';
import { eventually } from '../local/run-vmcp.ts';
import { type Ask, askFromPod } from './ask-from-pod.ts';
import { forwardPorts } from './forward-ports.ts';
import { readObjects } from './send-manifests.ts';
import { installDefinitions } from './stage.ts';
import { startOperator } from './start-operator.ts';
import { describeWithCluster, type Namespace } from './use-cluster.ts';

const ROOT = join(import.meta.dirname, '../..');
const EXAMPLE = join(ROOT, 'examples/quickstart-cluster');
// A suite may install another API group with the same short names.
const KINDS = 'virtualmcpservers.vmcp.dev,mcpservers.vmcp.dev,mcpgroups.vmcp.dev';
const BACKENDS = ['calendar', 'clock', 'everything', 'filesystem', 'memory', 'tickets', 'whoami'];

const has = (...members: object[]): unknown =>
  expect.arrayContaining(members.map((member) => expect.objectContaining(member)));
const uri = 'demo://resource/static/document/features.md';
const template = 'demo://resource/dynamic/text/{resourceId}';

/** A request of each kind that a client makes, and the expected content of its answer. */
const REQUESTS: readonly (readonly [...Ask, result: object])[] = [
  ['ping', {}, {}],
  ['tools/list', {}, { tools: has({ name: 'everything_echo' }, { name: 'memory_read_graph' }) }],
  [
    'tools/call',
    { name: 'everything_echo', arguments: { message: 'hello' } },
    { content: has({ text: expect.stringContaining('hello') }) },
  ],
  ['tools/call', { name: 'whoami_whoami', arguments: {} }, { structuredContent: { subject: 'alice' } }],
  ['prompts/list', {}, { prompts: has({ name: 'everything_args-prompt' }) }],
  [
    'prompts/get',
    { name: 'everything_args-prompt', arguments: { city: 'Oslo' } },
    { messages: [{ role: 'user', content: { text: expect.stringContaining('Oslo') } }] },
  ],
  ['resources/list', {}, { resources: has({ uri }) }],
  ['resources/templates/list', {}, { resourceTemplates: has({ uriTemplate: template }) }],
  ['resources/read', { uri }, { contents: [{ uri, text: expect.stringContaining('#') }] }],
  ['resources/read', { uri: template.replace('{resourceId}', '7') }, { contents: has({ mimeType: 'text/plain' }) }],
  [
    'completion/complete',
    {
      ref: { type: 'ref/prompt', name: 'everything_completable-prompt' },
      argument: { name: 'department', value: 'S' },
    },
    { completion: { values: ['Sales', 'Support'] } },
  ],
  [
    'completion/complete',
    { ref: { type: 'ref/resource', uri: template }, argument: { name: 'resourceId', value: '7' } },
    { completion: { values: ['7'] } },
  ],
];

async function answers(issuer: string): Promise<boolean> {
  const url = `${issuer}/.well-known/openid-configuration`;
  return fetch(url, { signal: AbortSignal.timeout(1000) }).then(
    ({ ok }) => ok,
    () => false,
  );
}

describeWithCluster('the quickstart, applied by kubectl with the identity providers as its one patch', (cluster) => {
  let namespace: Namespace;
  let endpoint: string;
  let manifests: string;
  let issuers: { company: string; partner: string };
  let tokens: { alice: string; bob: string };
  const programs: Program[] = [];
  const kubectl = (...args: string[]) => cluster.kubectl(['-n', namespace.name, ...args]);

  beforeAll(async () => {
    await installDefinitions(cluster);
    namespace = await cluster.makeNamespace('quickstart');
    programs.push(await startOperator(cluster, [namespace.name], [`--sidecars-of=${namespace.name}/quickstart`]));
    // A quickstart may already run on this machine, so the ports are moved; all else is unchanged.
    const ports = await movePorts([4480, 4482, 4483]);
    const written = await cluster.kubectl(['kustomize', EXAMPLE]);
    const moved = written.stdout.replaceAll(/\b448[023]\b/g, (port) =>
      String(ports[Number(port) as keyof typeof ports]),
    );
    manifests = moved;
    const applied = await cluster.kubectl(['-n', namespace.name, 'apply', '-f', '-'], moved);
    expect([written.code, applied.code, applied.stderr]).toEqual([0, 0, '']);
    endpoint = `http://127.0.0.1:${ports[4483]}/mcp`;
    issuers = { company: `http://127.0.0.1:${ports[4480]}`, partner: `http://127.0.0.1:${ports[4482]}` };
    for (const wait of [
      ['wait', '--for=condition=Ready', '--timeout=90s', 'virtualmcpservers.vmcp.dev/quickstart'],
      ['rollout', 'status', 'deployment/vmcp-quickstart', '--timeout=90s'],
    ]) {
      const { code, stderr } = await kubectl(...wait);
      if (code === 0) continue;
      const state = await kubectl('get', `${KINDS},pods`, '-o', 'wide');
      throw new Error([stderr, state.stdout, programs[0]?.output()].join('\n'));
    }
    programs.push(
      await forwardPorts(cluster, namespace.name, 'deployment/vmcp-quickstart', {
        [ports[4480]]: ports[4480],
        [ports[4482]]: ports[4482],
      }),
      await forwardPorts(cluster, namespace.name, 'service/vmcp-quickstart', { [ports[4483]]: 4483 }),
    );
    for (const issuer of Object.values(issuers)) await eventually(() => answers(issuer), Boolean);
    const client = await OAuthClient.register(new URL(endpoint).origin);
    const logIn = async (user: string) => (await client.login({ user })).access_token;
    tokens = { alice: await logIn('alice'), bob: await logIn('bob') };
  }, 240_000);
  afterAll(async () => {
    for (const program of programs.reverse()) await program.stop();
    await namespace.delete();
  });

  async function withClient<T>(token: string, work: (client: Client) => Promise<T>): Promise<T> {
    const client = await connect(endpoint, token);
    try {
      return await work(client);
    } finally {
      await client.close();
    }
  }

  it('has the Secrets of the quickstart in their stored form', async () => {
    const written = readObjects(readFileSync(join(ROOT, 'examples/quickstart/secrets.yaml'), 'utf8')) as unknown as {
      metadata: { name: string };
      stringData: Record<string, string>;
    }[];
    expect(written).toHaveLength(3);
    for (const { metadata, stringData } of written) {
      const { body } = await cluster.ask('GET', `/api/v1/namespaces/${namespace.name}/secrets/${metadata.name}`);
      const data = Object.entries((body as { data: Record<string, string> }).data);
      expect(Object.fromEntries(data.map(([key, value]) => [key, Buffer.from(value, 'base64').toString()]))).toEqual(
        stringData,
      );
    }
  });

  it('reports no change when kubectl applies it again', async () => {
    const again = await cluster.kubectl(['-n', namespace.name, 'apply', '-f', '-'], manifests);
    expect([again.code, again.stderr]).toEqual([0, '']);
    const lines = again.stdout.trim().split('\n');
    expect(lines.length).toBeGreaterThan(10);
    expect(lines.filter((line) => !line.endsWith(' unchanged'))).toEqual([]);
  });

  it('serves all seven backends, over HTTP, and over standard input and output', async () => {
    const names = await eventually(
      () => withClient(tokens.alice, async (client) => (await client.listTools()).tools.map(({ name }) => name)),
      (found) => BACKENDS.every((backend) => found.some((name) => name.startsWith(`${backend}_`))),
      90_000,
    );
    expect(names).toEqual(
      expect.arrayContaining(['everything_echo', 'memory_read_graph', 'filesystem_write_file', 'whoami_whoami']),
    );
  }, 120_000);

  it('calls each of them', async () => {
    await withClient(tokens.alice, async (client) => {
      const echo = await client.callTool({ name: 'everything_echo', arguments: { message: 'hello' } });
      expect(JSON.stringify(echo.content)).toContain('hello');
      const entities = [{ name: 'vmcp', entityType: 'gateway', observations: ['runs in a cluster'] }];
      await client.callTool({ name: 'memory_create_entities', arguments: { entities } });
      const graph = await client.callTool({ name: 'memory_read_graph', arguments: {} });
      expect(JSON.stringify(graph)).toContain('runs in a cluster');
      const note = { path: 'note.txt', content: 'written' };
      expect((await client.callTool({ name: 'filesystem_write_file', arguments: note })).isError ?? false).toBe(false);
      const page = await client.readResource({ uri: 'ui://clock/view.html' });
      expect(JSON.stringify(page)).toContain('text/html;profile=mcp-app');
      const read = await client.callTool({ name: 'filesystem_read_text_file', arguments: { path: 'note.txt' } });
      expect(JSON.stringify(read)).toContain('written');
    });
  });

  it.each<[way: string, ask: (asks: Ask[]) => Promise<Rpc[]>]>([
    [
      'through a port-forward',
      async (asks) => {
        const client = await SessionClient.open(endpoint, { authorization: `Bearer ${tokens.alice}` });
        const given: Rpc[] = [];
        for (const [method, params] of asks) given.push((await client.request(method, params)).answer);
        return given;
      },
    ],
    [
      'from another pod, at the Service',
      (asks) =>
        askFromPod({ cluster, namespace }, 'deployment/mcp-whoami', {
          url: 'http://vmcp-quickstart:4483/mcp',
          bearer: { token: tokens.alice },
          asks,
        }),
    ],
  ])(
    'answers tools, prompts, resources and completion %s',
    async (_, ask) => {
      const given = await ask(REQUESTS.map(([method, params]) => [method, params]));
      expect(given).toHaveLength(REQUESTS.length);
      for (const [index, [method, , result]] of REQUESTS.entries()) {
        expect({ method, ...given[index] }).toMatchObject({ method, result });
      }
    },
    90_000,
  );

  it('sends each backend the user’s own token, after one login at two providers', async () => {
    const names = ['calendar_whoami', 'tickets_whoami', 'whoami_whoami'];
    const answers = await Promise.all(names.map((name) => callTool(endpoint, name, tokens.alice)));
    expect(answers).toMatchObject([
      { subject: 'alice', issuer: issuers.company, audience: [issuers.company] },
      { subject: 'alice', issuer: issuers.partner, audience: [issuers.partner] },
      { subject: 'alice', issuer: issuers.company, audience: ['whoami'] },
    ]);
  });

  it('denies by policy, with the advice, and hides the tools that bob may never call', async () => {
    await withClient(tokens.bob, async (client) => {
      const names = (await client.listTools()).tools.map(({ name }) => name);
      expect(names).toContain('filesystem_write_file');
      expect(names).not.toContain('filesystem_move_file');
      const call = client.callTool({ name: 'filesystem_write_file', arguments: { path: 'bob.txt', content: 'x' } });
      await expect(call).rejects.toMatchObject({ code: 403, data: { policy: { id: 'only-writers-write-files' } } });
    });
  });

  it('refuses a caller without a token, also at the Service itself', async () => {
    const { body } = await cluster.ask('GET', `/api/v1/namespaces/${namespace.name}/services/vmcp-quickstart`);
    const ask = { jsonrpc: '2.0', id: 1, method: 'tools/list', params: {} };
    for (const url of [endpoint, `http://${(body as { spec: { clusterIP: string } }).spec.clusterIP}:4483/mcp`]) {
      const answer = await fetch(url, { method: 'POST', body: JSON.stringify(ask), signal: AbortSignal.timeout(5000) });
      expect(answer.status).toBeGreaterThanOrEqual(400);
      expect(answer.status).toBeLessThan(500);
    }
  });

  describe('the status', () => {
    it('reports every resource as ready, by the condition that kubectl waits for', async () => {
      const waits = await kubectl('wait', '--for=condition=Ready', '--timeout=60s', '--all', KINDS);
      expect([waits.code, waits.stderr]).toEqual([0, '']);
    }, 90_000);

    it('shows the numbers of backends and tools in kubectl get', async () => {
      // Ready stays True when backends arrive later; the next probe of the pods counts them.
      const shown = new RegExp(`^quickstart +Ready +${endpoint} +7 +`);
      await eventually(
        async () => (await kubectl('get', 'virtualmcpservers.vmcp.dev', 'quickstart', '--no-headers')).stdout,
        (stdout) => shown.test(stdout),
      );
    }, 90_000);
  });
});
