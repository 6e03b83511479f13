import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { WorkloadChanged, WorkloadDetail, WorkloadReport } from '../records/workload.ts';
import { serveOperations, type ServedOperations, TOKEN } from '../testdata/serve-operations.ts';
import { type WorkloadsFixture, openWorkloadsFixture } from '../workloads/testdata/workloads-fixture.ts';
import { OPERATIONS } from './table.ts';

let fixture: WorkloadsFixture;
let served: ServedOperations;
beforeEach(async () => {
  fixture = openWorkloadsFixture();
  served = await serveOperations(OPERATIONS, { services: fixture.services() });
});
afterEach(async () => {
  await served.close();
  fixture.remove();
});

interface Told {
  status: number;
  body: Record<string, unknown>;
}

async function ask(method: string, path: string, body?: unknown): Promise<Told> {
  const answer = await fetch(served.url + path, {
    method,
    headers: { authorization: `Bearer ${TOKEN}`, ...(body !== undefined && { 'content-type': 'application/json' }) },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  return { status: answer.status, body: (await answer.json()) as Record<string, unknown> };
}

const edit = (sent: unknown, query = '') => ask('POST', `/workloads/search/edit${query}`, sent);
const detail = async (name = 'search') => WorkloadDetail.parse((await ask('GET', `/workloads/${name}`)).body);
const refused = (detail: string) => ({
  status: 400,
  body: expect.objectContaining({ code: 'bad_request', detail: expect.stringContaining(detail) }),
});

describe('editWorkload with a removed field', () => {
  it.each([
    ['proxy_port', 9000, 0],
    ['proxy_port', 9000, null],
    ['target_port', 8080, 0],
    ['tools', ['find'], null],
    ['debug', true, null],
    ['network_isolation', true, null],
    ['oidc', { issuer: 'https://id.example', audience: 'a' }, null],
  ])('removes %s, set to %j, by %j', async (field, set, away) => {
    const before = fixture.read('search.yaml');
    expect((await edit({ [field]: set })).status).toBe(200);
    expect((await edit({ [field]: away })).status).toBe(200);
    expect(await detail()).not.toMatchObject({ [field]: set });
    expect(fixture.read('search.yaml')).toBe(before);
  });

  it('rejects an edit that leaves nothing to run', async () => {
    expect(await edit({ image: null })).toEqual(refused('nothing is left to run'));
    expect((await edit({ image: null, url: 'https://far.example/mcp' })).status).toBe(200);
  });

  it('ignores null for a field that is not set', async () => {
    const before = fixture.read('search.yaml');
    const names = Object.keys(WorkloadDetail.shape).filter((name) => !(name in { image: 0, group: 0, env_vars: 0 }));
    const away = names.filter((name) => !['secrets', 'transport'].includes(name)).map((name) => [name, null] as const);
    expect((await edit(Object.fromEntries(away))).status).toBe(200);
    expect(fixture.read('search.yaml')).toBe(before);
  });
});

const REGISTRY = {
  servers: {
    'io.example/tell': {
      description: 'Tells',
      image: 'npx://tell@1.0.0',
      transport: 'stdio',
      env_vars: [
        { name: 'MODE', required: true, default: 'quiet' },
        { name: 'PATH', required: true, default: '/evil' },
        { name: 'LEVEL', required: false, default: 'low' },
      ],
    },
    locked: {
      description: 'Locked',
      image: 'example/locked:1',
      env_vars: [{ name: 'KEY', required: true, secret: true }],
    },
  },
  remote_servers: { far: { description: 'Far', url: 'https://far.example/mcp', transport: 'streamable-http' } },
};

describe('createWorkload with only a registry entry', () => {
  beforeEach(async () => {
    const file = join(fixture.home, 'servers.json');
    writeFileSync(file, JSON.stringify(REGISTRY));
    expect((await ask('PUT', '/registry/default', { local_path: file })).status).toBe(200);
  });

  it("runs the entry and takes the name from the last part of the entry's name", async () => {
    const made = await ask('POST', '/workloads', { registry_entry: 'io.example/tell' });
    expect([made.status, made.body.name]).toEqual([201, 'tell']);
    const { command, transport, env_vars } = await detail('tell');
    expect({ command, transport, env_vars }).toEqual({
      command: ['npx', '-y', 'tell@1.0.0'],
      transport: 'stdio',
      env_vars: { MODE: 'quiet' },
    });
    expect((await ask('POST', '/workloads', { registry_entry: 'far', name: 'there' })).status).toBe(201);
    expect(await detail('there')).toMatchObject({ url: 'https://far.example/mcp' });
  });

  it('rejects missing values, an unknown entry and a missing name', async () => {
    expect(await ask('POST', '/workloads', { registry_entry: 'locked' })).toEqual(refused('KEY (in secrets)'));
    const secrets = [{ name: 'company/key', target: 'KEY' }];
    expect((await ask('POST', '/workloads', { registry_entry: 'locked', secrets })).status).toBe(201);
    expect(await ask('POST', '/workloads', { registry_entry: 'nothing' })).toEqual(refused('"nothing"'));
    expect(await ask('POST', '/workloads', { image: 'x' })).toEqual(refused('body name'));
  });
});

describe('createWorkload and editWorkload with a field without effect', () => {
  const BEGIN = 'accepted, without effect here: ';
  const warnedOf = (lines: string[] = []) => lines.map((line) => line.replace(BEGIN, '').split(':')[0]);
  const FAR = { name: 'far', url: 'https://far.example/mcp' };

  it.each([
    ['oauth_config.skip_browser', { ...FAR, oauth_config: { client_id: 'me', skip_browser: true } }],
    ['oauth_config.bearer_token.target', { ...FAR, oauth_config: { bearer_token: { name: 'a/b', target: 'T' } } }],
    [
      'oauth_config.client_secret.target',
      { ...FAR, oauth_config: { client_id: 'me', client_secret: { name: 'a/b', target: 'T' } } },
    ],
    ['headers', { ...FAR, headers: [{ name: 'X-Key' }] }],
    ['runtime_config', { ...FAR, runtime_config: { builder_image: 'node:24' } }],
    ['container_name', { ...FAR, container_name: 'box' }],
    ['container_labels', { ...FAR, container_labels: { tier: 'gold' } }],
    ['ignore_config', { ...FAR, ignore_config: { loadGlobal: true } }],
    ['debug', { ...FAR, debug: true }],
    ['trust_proxy_headers', { ...FAR, proxy_port: 9000, trust_proxy_headers: true }],
    ['publish', { name: 'far', command: ['far'], publish: ['80'] }],
    ['target_port', { name: 'far', command: ['far'], target_port: 8080 }],
    ['target_port', { ...FAR, target_port: 8080 }],
    ['cmd_arguments', { ...FAR, cmd_arguments: ['--fast'] }],
    ['env_vars', { ...FAR, env_vars: { LEVEL: 'low' } }],
    ['secrets', { ...FAR, secrets: [{ name: 'company/token', target: 'TOKEN' }] }],
    ['volumes', { ...FAR, volumes: ['/a:/b'] }],
  ])('warn in the answer and in the status: %s', async (field, sent) => {
    const made = await ask('POST', '/workloads', sent);
    expect(made.status).toBe(201);
    const { warnings } = WorkloadChanged.parse(made.body);
    expect(warnedOf(warnings)).toEqual([field]);
    expect(warnings?.[0]).toContain(BEGIN);
    const report = WorkloadReport.parse((await ask('GET', '/workloads/far/status')).body);
    expect(report.warnings).toEqual(warnings);
    const again = await ask('POST', '/workloads/far/edit', await detail('far'));
    expect(WorkloadChanged.parse(again.body).warnings).toEqual(warnings);
  });

  it('return no warnings if every field has an effect', async () => {
    const { body } = await edit({ debug: true, proxy_port: 9000 });
    expect(body).toEqual({ name: 'search', port: 9000 });
  });

  it('reject isolation that is not enforced, unless forced', async () => {
    const command = { name: 'far', command: ['far'], network_isolation: true };
    expect(await ask('POST', '/workloads', command)).toEqual(refused('a command runs as a process of this machine'));
    const made = await ask('POST', '/workloads?force', command);
    expect([made.status, warnedOf(WorkloadChanged.parse(made.body).warnings)]).toEqual([
      201,
      ['permission_profile.network'],
    ]);
    // Unenforced isolation that was forced once does not block later edits.
    const other = await ask('POST', '/workloads/far/edit', { ...(await detail('far')), tools: ['find'] });
    expect(other.status).toBe(200);
    const some = { permission_profile: { network: { outbound: { allow_host: ['10.0.0.1'] } } } };
    expect(await edit(some)).toEqual(refused('a container engine knows no addresses'));
    expect((await edit(some, '?force')).status).toBe(200);
    expect((await edit({ permission_profile: { name: 'none' } })).status).toBe(200);
  });

  it('reject an unsupported network mode', async () => {
    const permission_profile = { network: { mode: 'host', outbound: { insecure_allow_all: true } } };
    expect(await edit({ permission_profile })).toEqual(refused('network.mode: "host" is not served'));
  });

  it('warn about volumes and privileges of a command', async () => {
    const command = { name: 'far', command: ['far'], volumes: ['/data:/data'] };
    const profile = { permission_profile: { privileged: true, network: { outbound: { insecure_allow_all: true } } } };
    const made = await ask('POST', '/workloads', { ...command, ...profile });
    expect([made.status, warnedOf(WorkloadChanged.parse(made.body).warnings)]).toEqual([
      201,
      ['volumes', 'permission_profile.privileged'],
    ]);
  });

  it('reject inbound hosts, which are not enforced', async () => {
    const permission_profile = { network: { inbound: { allow_host: ['a'] } } };
    expect(await edit({ permission_profile })).toEqual(refused('permission_profile.network.inbound.allow_host'));
  });
});

it('allows plain HTTP and private addresses for an issuer on this machine', async () => {
  expect((await edit({ oidc: { issuer: 'http://127.0.0.1:4480', audience: 'a' } })).status).toBe(200);
  expect(fixture.read('search.yaml')).toMatch(/insecureAllowHTTP: true/);
  expect(fixture.read('search.yaml')).toMatch(/jwksAllowPrivateIP: true/);
  expect((await edit({ oidc: { issuer: 'https://id.example', audience: 'a' } })).status).toBe(200);
  expect(fixture.read('search.yaml')).not.toMatch(/insecureAllowHTTP|jwksAllowPrivateIP/);
});
