import { createServer, type Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { BASE } from '#management/base';
import { allProblems } from '#management/document/render-openapi';
import type { Operation } from '#management/operation';
import { OPERATIONS } from '#management/operations/table';
import { PROBLEMS, type ProblemCode } from '#management/problem';
import { tgzOf } from '#management/skills/testdata/archives';
import { skillText } from '#management/skills/testdata/skills-fixture';
import { filledPath } from '#management/testdata/filled-path';
import { sampleOf, SAMPLES } from '#management/testdata/operation-samples';
import { isOfTable } from '#management/testdata/status-table';
import { listenOn } from '#runtime/http/listen-on';
import { CutWay } from './cut-way.ts';
import { describeWithCluster } from './use-cluster.ts';
import { type Asked, ManagementStage } from './use-management.ts';

type How = NonNullable<Parameters<ManagementStage['ask']>[2]>;
type Scenario = (row: Operation) => Promise<Asked>;

const LONGEST_BODY = 4 * 1024 * 1024;
const ARCHIVE = (await tgzOf([{ name: 'SKILL.md', text: skillText('sample') }])).toString('base64');

/** Objects that exist from the beginning, and that no test changes. */
const KEPT = {
  '/groups': { name: 'kept' },
  '/workloads': { name: 'kept', url: 'https://mcp.example.com/mcp', transport: 'streamable-http', group: 'kept' },
  '/secrets/default/keys': { key: 'KEPT', value: 'x' },
  '/skills': { archive: (await tgzOf([{ name: 'SKILL.md', text: skillText('kept') }])).toString('base64') },
};

/** Requests that name a file or folder of the operator's machine. */
const OF_THIS_MACHINE: Record<string, { path: string; body?: unknown }> = {
  updateRegistry: { path: '/registry/default', body: { local_path: '/etc/hosts' } },
  listSkills: { path: '/skills?project_root=/etc' },
  getSkill: { path: '/skills/sample?project_root=/etc' },
  installSkill: { path: '/skills', body: { name: '/etc' } },
  uninstallSkill: { path: '/skills/sample?project_root=/etc' },
  validateSkill: { path: '/skills/validate', body: { path: '/etc' } },
};

/** Requests that would make the operator call its own network. */
const INSIDE: Record<string, unknown> = {
  updateRegistry: { url: 'http://127.0.0.1:1/r', allow_private_ip: true },
  installSkill: { name: '127.0.0.1:1/o/n', allow_private_ip: true },
};

describeWithCluster('each operation of the management API in a cluster', (cluster) => {
  const stage = new ManagementStage(cluster);
  const way = new CutWay(cluster.config.getCurrentCluster()?.server ?? '');
  const held = new Set<Socket>();
  const silent = createServer((socket) => void held.add(socket.on('error', () => undefined)));
  let slow: Promise<string>;
  beforeAll(async () => {
    // The only route to the internet is a proxy that opens no connection.
    const env = { HTTPS_PROXY: `http://127.0.0.1:${await listenOn(silent, '127.0.0.1', 0)}` };
    await stage.open('management-statuses', { server: await way.open(), env });
    for (const [path, body] of [...Object.entries(KEPT), ['/groups', { name: 'empty' }] as const])
      expect([path, (await stage.ask('POST', path, { body })).status]).toEqual([path, 201]);
    const theirs = { metadata: { name: 'vmcp-secrets' }, stringData: { THEIRS: 'x' } };
    await cluster.ask('POST', `/api/v1/namespaces/${stage.otherNamespace}/secrets`, theirs);
    // The last test awaits it; the others run meanwhile.
    slow = sendSlowly(`GET ${BASE}/version HTTP/1.1\r\nX: `);
    slow.catch(() => undefined);
  }, 90_000);
  afterAll(async () => {
    way.cut();
    await stage.close();
    for (const socket of held) socket.destroy();
    silent.close();
  }, 30_000);

  /** Sends one more byte each second, and returns the answer. */
  async function sendSlowly(start: string): Promise<string> {
    const socket = await stage.connect();
    const answer = text(socket);
    socket.write(start);
    const drops = setInterval(() => socket.write('x'), 1000);
    return answer.finally(() => clearInterval(drops));
  }

  /** Sends the request of a row that succeeds, with changes. */
  const ask = (row: Operation, how: How = {}, more = '') =>
    stage.ask(row.method, pathOf(row) + more, { ...('body' in how ? {} : bodyOf(row)), ...how });

  /**
   * Requests by code. The table lists the codes that cannot occur in a cluster, or not for each operation, with the
   * reason.
   */
  const SCENARIOS: Partial<Record<ProblemCode, Scenario>> = {
    bad_request: (row) => ask(row, {}, '?colour=red'),
    unauthenticated: (row) => ask(row, { as: { authorization: undefined } }),
    foreign_host: (row) => ask(row, { headers: { origin: 'https://evil.example' } }),
    forbidden: (row) => ask(row, { as: 'nobody' }),
    namespace_missing: (row) => ask(row, { namespace: undefined }),
    too_large: (row) => stage.announce(row.method, pathOf(row), LONGEST_BODY + 1),
    unsupported_media_type: (row) => ask(row, { body: 'x', headers: { 'content-type': 'text/plain' } }),
    not_found: (row) =>
      row.id === 'listWorkloads'
        ? ask(row, {}, '?group=none')
        : stage.ask(row.method, row.path.replaceAll(/\{\w+\}/g, 'none'), bodyOf(row)),
    already_exists: (row) => stage.ask('POST', row.path, { body: KEPT[row.path as keyof typeof KEPT] }),
    stale(row) {
      const name = row.id === 'deleteGroup' ? 'empty' : 'kept';
      const path = row.path.startsWith('/registry') ? pathOf(row) : row.path.replace('{name}', name);
      return stage.ask(row.method, path, { ...bodyOf(row), headers: { 'if-match': '"another"' } });
    },
    in_use: (row) => stage.ask(row.method, row.path.replace('{name}', 'kept')),
    path_not_available(row) {
      const { path, body } = OF_THIS_MACHINE[row.id] ?? { path: '' };
      return stage.ask(row.method, path, { body });
    },
    unsupported_provider: (row) => ask(row, { body: { provider_type: 'encrypted' } }),
    inline_secret: (row) =>
      stage.ask(row.method, row.path.replace('{name}', 'kept'), {
        body: { ...(bodyOf(row).body as object), secrets: [{ name: 'hunter2', target: 'TOKEN' }] },
      }),
    headers_too_large: (row) => ask(row, { headers: { 'x-long': 'x'.repeat(40_000) } }),
    source_failed: (row) => ask(row, { body: { name: 'registry.invalid/o/n:1' } }),
    upstream_failed: (row) => ask(row, { body: { url: 'https://registry.invalid/r' } }),
    upstream_timeout: (row) => ask(row, { body: { url: 'https://93.184.216.34/r' } }),
    private_address_refused: (row) => stage.ask(row.method, pathOf(row), { body: INSIDE[row.id] }),
    // A foreign Secret of that name exists.
    conflict: (row) => ask(row, { as: 'neighbour', namespace: stage.otherNamespace }),
  };

  it('returns its success status', async () => {
    const told: [string, number][] = [];
    let operation = '';
    for (const id of Object.keys(SAMPLES)) {
      const row = find(id);
      const made = id === 'installSkill' || id === 'validateSkill' ? { body: { archive: ARCHIVE } } : {};
      const answer = id === 'getOperation' ? await stage.ask('GET', `/operations/${operation}`) : await ask(row, made);
      if (id === 'restartWorkloads') operation = (answer.body as { operation_id: string }).operation_id;
      told.push([id, answer.status]);
    }
    // A remote workload has no log; e2e/cluster/management-workloads.test.ts reads one of a pod.
    const expected = Object.keys(SAMPLES).map((id) => [id, id === 'getWorkloadLogs' ? 404 : find(id).success]);
    expect(told).toEqual(expected);
  }, 60_000);

  const codes = (Object.keys(PROBLEMS) as ProblemCode[])
    .map((code) => ({ code, status: PROBLEMS[code][0], rows: rowsOf(code) }))
    .filter(({ rows }) => rows.length > 0);

  it.each(codes.filter(({ code }) => code !== 'unavailable'))(
    'returns $status $code',
    async ({ code, status, rows }) => {
      const scenario = SCENARIOS[code];
      if (!scenario) throw new Error(`nobody has shown how ${code} comes about`);
      const told = await Promise.all(rows.map(async (row) => [row.id, ...seen(await scenario(row))]));
      expect(told).toEqual(rows.map(({ id }) => [id, status, code, 'application/problem+json']));
    },
    30_000,
  );

  it('answers 405 to another method, with the allowed methods', async () => {
    const methods = ['PATCH', 'OPTIONS'];
    const told = await Promise.all(
      OPERATIONS.flatMap((row) =>
        methods.map(async (method) => {
          const answer = await stage.ask(method, pathOf(row));
          return [row.id, ...seen(answer), String(answer.headers.allow).split(', ').includes(row.method)];
        }),
      ),
    );
    const refused = [405, 'method_not_allowed', 'application/problem+json', true];
    expect(told).toEqual(OPERATIONS.flatMap(({ id }) => methods.map(() => [id, ...refused])));
  });

  it('answers 403 in a namespace without the role', async () => {
    const rows = rowsOf('forbidden');
    const told = await Promise.all(
      rows.map(async (row) => [row.id, (await ask(row, { namespace: stage.otherNamespace })).status]),
    );
    expect(told).toEqual(rows.map(({ id }) => [id, 403]));
  });

  it('requires the right to a Secret that it names, as applying the resource does', async () => {
    const secrets = [{ name: 'vmcp-secrets/KEPT', target: 'TOKEN' }];
    const body = { name: 'leaky', image: 'example/leaky:1', secrets };
    const refused = await stage.ask('POST', '/workloads', { as: 'keyless', body });
    expect([refused.status, refused.body]).toEqual([
      403,
      expect.objectContaining({ detail: expect.stringContaining('may not get secrets "vmcp-secrets"') }),
    ]);
    expect((await stage.ask('POST', '/workloads', { body })).status).toBe(201);
    expect((await stage.ask('DELETE', '/workloads/leaky')).status).toBe(204);
  });

  it('answers 503 while the API server does not answer', async () => {
    way.cut();
    const rows = rowsOf('unavailable');
    const told = await Promise.all(rows.map(async (row) => [row.id, ...seen(await ask(row))]));
    expect(told).toEqual(rows.map(({ id }) => [id, 503, 'unavailable', 'application/problem+json']));
  }, 60_000);

  it('answers 408 to a client that sends its header slowly', async () => {
    expect(await slow).toMatch(/^HTTP\/1\.1 408 [^]*application\/problem\+json[^]*"code":"too_slow"/);
  }, 60_000);
});

/** Returns the operations for which the table of a cluster lists this problem. */
function rowsOf(code: ProblemCode): Operation[] {
  return OPERATIONS.filter(
    (row) => isOfTable('cluster', row.id, code) && allProblems(row).some(([one]) => one === code),
  );
}

const seen = ({ status, headers, body }: Asked) => [
  status,
  (body as { code?: string }).code,
  String(headers['content-type']).split(';')[0],
];

function find(id: string): Operation {
  const operation = OPERATIONS.find((one) => one.id === id);
  if (!operation) throw new Error(`there is no operation ${id}`);
  return operation;
}

const pathOf = ({ id, path }: Operation): string => filledPath(path, sampleOf(id).params);
const bodyOf = ({ id }: Operation): { body?: unknown } => {
  const { body } = sampleOf(id);
  return body === undefined ? {} : { body };
};
