import { writeFileSync } from 'node:fs';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { openState } from '#local/state-folder';
import { takeLock } from '#local/lock';
import { RunConfiguration } from '../records/run-configuration.ts';
import { OperationAccepted, WorkloadOperation } from '../records/workload-operation.ts';
import { WorkloadChanged, WorkloadDetail, WorkloadList, WorkloadReport } from '../records/workload.ts';
import { askOperation } from '../testdata/ask-operation.ts';
import { serveOperations, type ServedOperations, TOKEN } from '../testdata/serve-operations.ts';
import { GROUP, SEARCH, type WorkloadsFixture, openWorkloadsFixture } from '../workloads/testdata/workloads-fixture.ts';
import { getGroup } from './groups.ts';
import { OPERATIONS } from './table.ts';

let fixture: WorkloadsFixture;
let served: ServedOperations;
beforeEach(async () => {
  fixture = openWorkloadsFixture();
  served = await serveOperations(OPERATIONS, { services: fixture.services() });
});
afterEach(async () => {
  await fixture.services().operations.idle();
  await served.close();
  fixture.remove();
});

interface Told {
  status: number;
  body: unknown;
  etag: string;
}

async function ask(method: string, path: string, body?: unknown, etag?: string): Promise<Told> {
  const answer = await fetch(served.url + path, {
    method,
    headers: {
      authorization: `Bearer ${TOKEN}`,
      ...(body !== undefined && { 'content-type': 'application/json' }),
      ...(etag !== undefined && { 'if-match': etag }),
    },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  const text = await answer.text();
  const json = answer.headers.get('content-type')?.includes('json') === true;
  return { status: answer.status, body: json ? JSON.parse(text) : text, etag: answer.headers.get('etag') ?? '' };
}

const refused = (status: number, code: string, detail = '') =>
  expect.objectContaining({ status, body: expect.objectContaining({ code, detail: expect.stringContaining(detail) }) });

const end = async (id: string): Promise<WorkloadOperation> => {
  await fixture.services().operations.idle();
  return WorkloadOperation.parse((await ask('GET', `/operations/${id}`)).body);
};

/** Edits without a common field. */
const FIELDS = [
  { target_port: 8080 },
  { proxy_port: 9000 },
  { tools: ['find'] },
  { cmd_arguments: ['--fast'] },
  { trust_proxy_headers: true },
];

describe('listWorkloads', () => {
  it('returns running workloads, or all workloads on request', async () => {
    expect(WorkloadList.parse((await ask('GET', '/workloads')).body).workloads).toEqual([]);
    for (const all of ['?all', '?all=true']) {
      const { status, body } = await ask('GET', `/workloads${all}`);
      expect(status).toBe(200);
      expect(WorkloadList.parse(body).workloads).toEqual([
        expect.objectContaining({
          name: 'search',
          status: 'unknown',
          status_context: 'Nothing runs here.',
          package: 'example/search:1',
          group: 'tools',
          labels: { team: 'web' },
          transport_type: 'streamable-http',
        }),
      ]);
    }
  });

  it('includes unhealthy workloads and omits stopped ones', async () => {
    openState(fixture.state);
    const unlock = takeLock(fixture.state, fixture.folder, 'test');
    try {
      fixture.write('other.yaml', SEARCH.replace('search #', 'other #').replace('spec:', 'spec:\n  suspend: true'));
      const statuses = [
        ['search', 'Degraded'],
        ['other', 'Ready'],
      ].map(([name, phase]) => ({
        key: { kind: 'MCPServer', namespace: 'default', name },
        status: { phase, conditions: [] },
        isEndpoint: false,
      }));
      const localStatus = {
        pid: process.pid,
        folder: fixture.folder,
        settled: true,
        problems: [],
        resources: statuses,
      };
      writeFileSync(fixture.state.status, JSON.stringify({ ...localStatus, processes: [] }));
      const { workloads } = WorkloadList.parse((await ask('GET', '/workloads')).body);
      expect(workloads.map(({ name, status }) => [name, status])).toEqual([['search', 'unhealthy']]);
    } finally {
      unlock();
    }
  });

  it('returns the workloads of a group, and 404 for an unknown group', async () => {
    fixture.write('other.yaml', SEARCH.replace('search #', 'other #').replace('  groupRef: tools\n', ''));
    const { body } = await ask('GET', '/workloads?all&group=tools');
    expect(WorkloadList.parse(body).workloads.map(({ name }) => name)).toEqual(['search']);
    expect(await ask('GET', '/workloads?group=none')).toEqual(refused(404, 'not_found', 'none'));
  });

  it('returns pages', async () => {
    for (const name of ['a', 'b', 'c']) fixture.write(`${name}.yaml`, SEARCH.replace('search #', `${name} #`));
    const first = WorkloadList.parse((await ask('GET', '/workloads?all&limit=3')).body);
    expect(first.workloads.map(({ name }) => name)).toEqual(['a', 'b', 'c']);
    const second = WorkloadList.parse((await ask('GET', `/workloads?all&limit=3&cursor=${first.next_cursor}`)).body);
    expect([second.workloads.map(({ name }) => name), second.next_cursor]).toEqual([['search'], undefined]);
  });
});

describe('the operations on a workload', () => {
  it('read and write it back without a change', async () => {
    const { status, body, etag } = await ask('GET', '/workloads/search');
    expect([status, WorkloadDetail.parse(body)]).toEqual([
      200,
      expect.objectContaining({ env_vars: { LEVEL: 'debug' }, secrets: [{ name: 'company/token', target: 'TOKEN' }] }),
    ]);
    const edited = await ask('POST', '/workloads/search/edit', body, etag);
    expect([edited.status, WorkloadChanged.parse(edited.body), edited.etag]).toEqual([
      200,
      { name: 'search', port: 0 },
      etag,
    ]);
    expect(fixture.read('search.yaml')).toBe(SEARCH);
  });

  it('change its manifest and keep everything else, comments included', async () => {
    const { status } = await ask('POST', '/workloads/search/edit', { image: 'example/search:2' });
    expect(status).toBe(200);
    expect(fixture.read('search.yaml')).toBe(SEARCH.replace('search:1', 'search:2'));
  });

  it('answer 412 if it has changed since it was read', async () => {
    const { etag } = await ask('GET', '/workloads/search');
    fixture.write('search.yaml', SEARCH.replace('debug', 'info'));
    const late = await ask('POST', '/workloads/search/edit', { image: 'example/search:2' }, etag);
    expect(late).toEqual(refused(412, 'stale'));
    expect(fixture.read('search.yaml')).toBe(SEARCH.replace('debug', 'info'));
  });

  it('lose none of 50 concurrent edits, with and without If-Match', async () => {
    const { etag } = await ask('GET', '/workloads/search');
    const edits = Array.from({ length: 50 }, (_, n) =>
      n % 2 === 0
        ? ask('POST', '/workloads/search/edit', { tools_override: { [`t${n}`]: { name: `n${n}` } } }, etag)
        : ask('POST', '/workloads/search/edit', FIELDS[n % FIELDS.length]),
    );
    const told = await Promise.all(edits);
    // At most one edit with If-Match succeeds; the others answer 412.
    const careful = told.filter((_, n) => n % 2 === 0).map(({ status }) => status);
    const overrides = careful.filter((status) => status === 200).length;
    expect(careful.filter((status) => status === 412)).toHaveLength(25 - overrides);
    expect(overrides).toBeLessThanOrEqual(1);
    expect(told.filter((_, n) => n % 2 === 1).map(({ status }) => status)).toEqual(Array(25).fill(200));
    const { body } = await ask('GET', '/workloads/search');
    expect(body).toEqual(expect.objectContaining(Object.fromEntries(FIELDS.flatMap((field) => Object.entries(field)))));
    expect(Object.keys(WorkloadDetail.parse(body).tools_override ?? {})).toHaveLength(overrides);
  });

  it.each(['Big', 'a b', '-a', '1a', 'a'.repeat(46), '', 'ä', '../x', 'a/b'])(
    'reject the name %j and write nothing',
    async (name) => {
      const made = await ask('POST', '/workloads', { name, image: 'example/x:1' });
      expect(made).toEqual(refused(400, 'bad_request', 'body name'));
      expect(fixture.files()).toEqual(['group.yaml', 'search.yaml']);
    },
  );

  it('reject an invalid field by name and leave no files behind', async () => {
    const profile = { permission_profile: { read: ['/data'] } };
    const bad = await ask('POST', '/workloads', { name: 'both', image: 'x', url: 'https://x.example', ...profile });
    expect(bad).toEqual(refused(400, 'bad_request', 'remoteUrl'));
    const group = await ask('POST', '/workloads', { name: 'lost', image: 'x', group: 'none', ...profile });
    expect(group).toEqual(refused(400, 'bad_request', 'there is no group "none"'));
    const edit = await ask('POST', '/workloads/search/edit', { target_port: 70_000, ...profile });
    expect(edit).toEqual(refused(400, 'bad_request', 'target_port'));
    expect(fixture.files()).toEqual(['group.yaml', 'search.yaml']);
    expect(fixture.read('search.yaml')).toBe(SEARCH);
  });

  it('include its permission profile in its version', async () => {
    await ask('POST', '/workloads/search/edit', { permission_profile: { read: ['/a'] } });
    const { etag } = await ask('GET', '/workloads/search');
    const [one, two] = await Promise.all(
      ['/b', '/c'].map((path) => ask('POST', '/workloads/search/edit', { permission_profile: { read: [path] } }, etag)),
    );
    expect([one?.status, two?.status].sort()).toEqual([200, 412]);
  });

  it('create and delete it in a file of its own, together with its permission profile', async () => {
    const made = await ask('POST', '/workloads', {
      name: 'files',
      command: ['npx', '-y', 'files@1'],
      group: 'tools',
      permission_profile: { read: ['/data'] },
    });
    const warnings = [expect.stringContaining('permission_profile.read: a command runs as a process')];
    expect([made.status, made.body]).toEqual([201, { name: 'files', port: 0, warnings }]);
    expect(fixture.files()).toEqual([
      'configmap-files-permissions.yaml',
      'group.yaml',
      'mcpserver-files.yaml',
      'search.yaml',
    ]);
    const { body } = await ask('GET', '/workloads/files');
    expect(body).toEqual(
      expect.objectContaining({ command: ['npx', '-y', 'files@1'], permission_profile: { read: ['/data'] } }),
    );
    expect((await ask('DELETE', '/workloads/files')).status).toBe(204);
    expect(fixture.files()).toEqual(['group.yaml', 'search.yaml']);
  });

  it('stop, start and restart it', async () => {
    const stopped = await ask('POST', '/workloads/search/stop');
    expect([stopped.status, stopped.body]).toEqual([202, { name: 'search', port: 0 }]);
    const report = WorkloadReport.parse((await ask('GET', '/workloads/search/status')).body);
    expect(report).toEqual({ name: 'search', status: 'stopped', status_context: '', conditions: [] });
    expect((await ask('POST', '/workloads/search/start')).status).toBe(202);
    expect(fixture.read('search.yaml')).toBe(SEARCH);
    await ask('POST', '/workloads/search/stop');
    expect((await ask('POST', '/workloads/search/restart')).status).toBe(202);
    expect(fixture.read('search.yaml')).not.toContain('suspend');
    expect(fixture.read('search.yaml')).toMatch(/vmcp.dev\/restarted-at: ['"]?2/);
  });

  it('export it without secrets', async () => {
    const { status, body } = await ask('GET', '/workloads/search/export');
    expect([status, RunConfiguration.parse(body)]).toEqual([
      200,
      expect.objectContaining({
        schema_version: 'v0.1.0',
        name: 'search',
        image: 'example/search:1',
        secrets: ['company/token,target=TOKEN'],
        target_host: '127.0.0.1',
      }),
    ]);
  });
});

describe('deleteWorkloads and restartWorkloads', () => {
  beforeEach(() => {
    for (const name of ['a', 'b']) fixture.write(`${name}.yaml`, SEARCH.replace('search #', `${name} #`));
  });

  it('delete in the background and report the result', async () => {
    const { status, body } = await ask('POST', '/workloads/delete', { names: ['a', 'search', 'none'] });
    const { operation_id: id, ...accepted } = OperationAccepted.parse(body);
    expect([status, accepted]).toEqual([202, { accepted: ['a', 'search'], unknown: ['none'] }]);
    expect(await end(id)).toEqual({
      id,
      type: 'delete',
      status: 'succeeded',
      created_at: expect.any(String),
      finished_at: expect.any(String),
      workloads: [
        { name: 'a', status: 'done' },
        { name: 'search', status: 'done' },
      ],
    });
    // The comment above a document stays.
    for (const file of ['a.yaml', 'search.yaml']) expect(fixture.read(file)).toBe('# What we search with.\n');
    expect(fixture.read('b.yaml')).toContain('MCPServer');
  });

  it('restart the running workloads of a group', async () => {
    await ask('POST', '/workloads/a/stop');
    const { body } = await ask('POST', '/workloads/restart', { group: 'tools' });
    const { accepted, operation_id: id } = OperationAccepted.parse(body);
    expect(accepted).toEqual(['b', 'search']);
    expect((await end(id)).status).toBe('succeeded');
    expect(fixture.read('b.yaml')).toContain('restarted-at');
    expect(fixture.read('a.yaml')).not.toContain('restarted-at');
  });

  it('require either names or a group', async () => {
    for (const body of [{}, { names: ['a'], group: 'tools' }, { names: [] }])
      expect(await ask('POST', '/workloads/delete', body)).toEqual(refused(400, 'bad_request'));
    expect(await ask('POST', '/workloads/delete', { group: 'none' })).toEqual(refused(400, 'bad_request', 'none'));
    expect(fixture.files()).toEqual(['a.yaml', 'b.yaml', 'group.yaml', 'search.yaml']);
  });
});

describe('the operations on a group', () => {
  it('create, change and delete it', async () => {
    const made = await ask('POST', '/groups', { name: 'dev', description: 'For us' });
    expect([made.status, made.body]).toEqual([
      201,
      { name: 'dev', description: 'For us', workloads: [], created_at: expect.any(String) },
    ]);
    const same = await ask('PUT', '/groups/dev', {}, made.etag);
    expect([same.body, same.etag]).toEqual([made.body, made.etag]);
    const changed = await ask('PUT', '/groups/dev', { description: '' }, made.etag);
    expect([changed.status, changed.body]).toEqual([200, expect.objectContaining({ description: '' })]);
    expect(await ask('DELETE', '/groups/dev', undefined, made.etag)).toEqual(refused(412, 'stale'));
    expect((await ask('DELETE', '/groups/dev', undefined, changed.etag)).status).toBe(204);
    expect(await ask('GET', '/groups/dev')).toEqual(refused(404, 'not_found'));
  });

  it('return it again after a workload joined, although its own version is the same', async () => {
    const { etag } = await ask('GET', '/groups/tools');
    fixture.write('other.yaml', SEARCH.replace('search #', 'other #'));
    // fetch would send Cache-Control: no-cache with If-None-Match.
    const told = await askOperation(served, getGroup, {
      params: { name: 'tools' },
      headers: { 'if-none-match': etag },
    });
    expect([told.status, told.body]).toEqual([200, expect.objectContaining({ workloads: ['other', 'search'] })]);
  });

  it('list its workloads and refuse to delete it while it has any', async () => {
    expect((await ask('GET', '/groups')).body).toEqual({
      groups: [{ name: 'tools', description: '', workloads: ['search'] }],
    });
    expect(await ask('DELETE', '/groups/tools')).toEqual(refused(409, 'in_use', 'workload search'));
    expect(fixture.read('group.yaml')).toBe(GROUP);
  });
});
