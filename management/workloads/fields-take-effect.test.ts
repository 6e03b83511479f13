import { describe, expect, it } from '@jest/globals';
import { changeAt, readAt } from '#operator/testdata/change-at';
import { jsonSchemaLeaves } from '#operator/testdata/json-schema-leaves';
import { ORIGIN_ONLY, RECORDED_ONLY } from '../records/recorded-only.ts';
import { WorkloadDetail } from '../records/workload.ts';
import type { StoredResource } from '../stores/resources.ts';
import { applyDetail } from './detail.ts';

type Path = readonly string[];

/** Yields the leaves that a record writes: path in the record, and in its schema. */
function* written(value: unknown, at: Path = [], path: Path = []): Generator<{ at: Path; path: string }> {
  if (typeof value !== 'object' || value === null) {
    yield { at, path: path.join('.') };
    return;
  }
  const isMap = ['env_vars', 'tools_override', 'container_labels', 'oauth_params'].includes(path.at(-1) ?? '');
  const isHeaders = path[0] === 'header_forward' && path.length === 2;
  for (const [name, inner] of Object.entries(value)) {
    const step = Array.isArray(value) || isMap || isHeaders ? '*' : name;
    yield* written(inner, [...at, name], [...path, step]);
  }
}

const PROFILE = {
  name: 'mine',
  network: { mode: 'none', outbound: { allow_host: ['a.example'], allow_port: [443], insecure_allow_all: false } },
  privileged: true,
  read: ['/a'],
  write: ['/b'],
};
const OAUTH = {
  issuer: 'https://id.example',
  authorize_url: 'https://id.example/authorize',
  token_url: 'https://id.example/token',
  client_id: 'me',
  client_secret: { name: 'company/id', target: 'SECRET' },
  scopes: ['read'],
  resource: 'https://far.example/',
  oauth_params: { prompt: 'consent' },
  use_pkce: false,
  callback_port: 8666,
  skip_browser: true,
};

/** Records that together write every field. */
const RECORDS: unknown[] = [
  {
    image: 'example/search:1',
    group: 'tools',
    transport: 'sse',
    proxy_mode: 'sse',
    proxy_port: 9000,
    target_port: 8080,
    cmd_arguments: ['--fast'],
    env_vars: { LEVEL: 'low' },
    secrets: [{ name: 'company/token', target: 'TOKEN' }],
    volumes: ['/a:/b:ro'],
    tools: ['find'],
    tools_override: { find: { name: 'search', description: 'Searches' } },
    permission_profile: PROFILE,
    authz_config: '{"cedar":{"policies":[]}}',
    oidc: {
      issuer: 'https://id.example',
      audience: 'a',
      client_id: 'me',
      client_secret: 'company/introspection',
      introspection_url: 'https://id.example/introspect',
      jwks_url: 'https://id.example/keys',
      scopes: ['read'],
    },
    trust_proxy_headers: true,
    publish: ['80'],
    allow_docker_gateway: true,
    env_file_dir: '/files',
    debug: true,
    container_name: 'box',
    container_labels: { tier: 'gold' },
    runtime_config: { builder_image: 'node:24', additional_packages: ['git'] },
    ignore_config: { loadGlobal: true, printOverlays: true },
    registry_url: 'https://registry.example/servers.json',
    registry_api_url: 'https://registry.example/',
  },
  { command: ['node', 'server.js'], stdio_process: 'perSession', network_isolation: true },
  {
    url: 'https://far.example/mcp',
    oauth_config: OAUTH,
    header_forward: { add_plaintext_headers: { 'X-A': 'b' }, add_headers_from_secret: { 'X-B': 'company/token' } },
    headers: [{ name: 'X-A', description: 'd', required: true, secret: true, default: 'a', choices: ['a'] }],
  },
  { url: 'https://far.example/mcp', oauth_config: { bearer_token: { name: 'company/token', target: 'TOKEN' } } },
];

const RESOURCE: StoredResource = {
  kind: 'MCPServer',
  name: 'one',
  labels: {},
  annotations: {},
  spec: {},
  version: '1',
};
const PLACE = { host: '127.0.0.1', hasPaths: true, profile: undefined };

/** Returns the spec and the permission profile that a record gives to a new resource, without recorded fields. */
function madeOf(record: unknown): string {
  const { spec, profile } = applyDetail(WorkloadDetail.parse(record), RESOURCE, PLACE);
  return JSON.stringify({ spec, profile });
}

/** Returns whether the resource changes, or is rejected, if the field is missing or, for a required field, has another text. */
function takesEffect(record: unknown, at: Path): boolean {
  const text = readAt(record, at);
  return [undefined, `${String(text)}x`].some((other) => {
    const next = changeAt(record, at, other);
    if (!WorkloadDetail.safeParse(next).success) return false;
    try {
      return madeOf(next) !== madeOf(record);
    } catch {
      return true;
    }
  });
}

const isBelow = (field: string, fields: object) =>
  Object.keys(fields).some((one) => field === one || field.startsWith(`${one}.`));

/** Rejected fields: a resource keeps its name, the platform chooses where endpoints listen, and no platform limits callers. */
const REFUSED: Readonly<Record<string, unknown>> = {
  name: 'another',
  host: '192.0.2.1',
  'permission_profile.network.inbound.allow_host.*': { network: { inbound: { allow_host: ['a'] } } },
};

describe('the fields of a workload record', () => {
  const leaves = jsonSchemaLeaves(WorkloadDetail);
  const pairs = RECORDS.flatMap((record) => [...written(record)].map((one) => ({ ...one, record })));

  it('change the resource or are only recorded', () => {
    const effective = new Set(pairs.filter(({ record, at }) => takesEffect(record, at)).map(({ path }) => path));
    const recorded = leaves.filter((field) => isBelow(field, { ...RECORDED_ONLY, ...ORIGIN_ONLY }));
    expect(leaves.filter((field) => !effective.has(field) && !(field in REFUSED))).toEqual(recorded);
    expect(pairs.map(({ path }) => path).filter((path) => !leaves.includes(path))).toEqual([]);
  });

  it.each(Object.entries(REFUSED))('reject %s, which no resource can have', (field, value) => {
    const [name = ''] = field.split('.');
    expect(() => madeOf({ [name]: value })).toThrow(`body ${field.replace('.*', '')}`);
  });
});
