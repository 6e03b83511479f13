import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { parse, parseAllDocuments, stringify } from 'yaml';
import { z } from 'zod';
import { RunConfig, type RunConfigDocument } from '#crds/run-config/run-config';

/** Returns the stored run configurations of an earlier schema, with the names of their backends. */
function documentsOf(schema: string): [string, RunConfigDocument][] {
  const text = readFileSync(new URL(`testdata/${schema}.yaml`, import.meta.url), 'utf8');
  return parseAllDocuments(text).map((document) => {
    const read = document.toJS() as RunConfigDocument;
    return [read.backends.map(({ name, transport }) => `${name} (${transport})`).join(', '), read];
  });
}

const smallest: RunConfigDocument = {
  schema_version: 'v0.1.0',
  server: { namespace: 'default', name: 'demo', uid: 'a' },
  incoming: { type: 'anonymous' },
  backends: [],
};

const everything: RunConfigDocument = {
  ...smallest,
  listen: { host: '::', port: 0, private_host: '::', private_port: 0, tls: { cert_file: '/c', key_file: '/k' } },
  resource_url: 'https://mcp.example.com/mcp',
  allowed_hosts: ['a:1'],
  allowed_origins: ['https://a.example'],
  trusted_proxies: ['10.0.0.0/8'],
  incoming: {
    type: 'oidc',
    issuer: 'https://mcp.example.com',
    audience: 'https://mcp.example.com/mcp',
    client_id: 'a',
    client_secret_file: '/s',
    introspection_url: 'https://i.example',
    scopes: ['mcp'],
    embedded: true,
    jwks: { keys: [{ kty: 'EC', kid: '1' }] },
    groups_claim: 'g',
    required_typ: 'at+jwt',
  },
  authz: { policies: ['permit(principal, action, resource);'], mode: 'audit' },
  aggregation: {
    conflict_resolution: 'priority',
    priority_order: ['a'],
    tools: [{ workload: 'a', exclude_all: true }],
  },
  backends: [
    {
      transport: 'streamable-http',
      name: 'a',
      url: 'http://127.0.0.1:1/mcp',
      auth: { type: 'token_exchange', token_url: 'https://idp.example/token', client_secret_file: '/x' },
      webhooks: [{ name: 'w', url: 'https://w.example', timeout: '3s' }],
      header_forward: { add_plaintext_headers: { a: 'b' }, add_header_files: { c: '/d' } },
    },
    {
      transport: 'sse',
      name: 'b',
      url: 'http://127.0.0.1:1/sse',
      auth: { type: 'upstream_inject', provider_name: 'o' },
    },
    { transport: 'stdio', name: 'c', command: 'npx', args: ['-y'], env: { A: 'b' }, env_files: { C: '/d' } },
  ],
  operational: { timeouts: { default: '1m30s', per_workload: { a: '250ms' } }, concurrency: { per_backend: 2 } },
  limits: { session_idle: '7d', jwks_cooldown: '10s' },
  passthrough_headers: ['x-a'],
  rate_limiting: { rules: [{ requests: 1, per: '1s', scope: 'user' }], shared: { max_tokens: 1, refill_period: '1m' } },
  session_storage: { type: 'redis', redis: { addr: 'r:1', key_prefix: 'k:', dial_timeout: '1s' } },
  sealing_secret_files: ['/seal'],
  embedded_auth_server_config: {
    issuer: 'https://mcp.example.com',
    token_lifespans: { access_token_lifespan: '15m' },
    upstreams: [
      { type: 'oidc', name: 'o', oidc_config: { issuer_url: 'https://o.example', client_id: 'a' } },
      {
        type: 'oauth2',
        name: 'g',
        required: false,
        oauth2_config: {
          client_id: 'b',
          authorization_endpoint: 'https://g.example/a',
          token_endpoint: 'https://g.example/t',
          userinfo: { endpoint_url: 'https://g.example/u', field_mapping: { subject_fields: ['id'] } },
        },
      },
    ],
    storage: { type: 'sqlite', file: '/db' },
  },
  audit_config: { enabled: true },
  telemetry_config: { samplingRate: '1' },
  status_token_file: '/t',
};

describe('RunConfig', () => {
  it.each([
    ['the smallest', smallest],
    ['one with everything', everything],
  ])('keeps its meaning after a round trip through YAML: %s', (_, document) => {
    expect(RunConfig.parse(parse(stringify(document)))).toEqual(RunConfig.parse(document));
  });

  it.each([
    ['the smallest', smallest],
    ['one with everything', everything],
  ])('keeps its meaning after parsing and encoding: %s', (_, document) => {
    const parsed = RunConfig.parse(document);
    const again = z.encode(RunConfig, parsed);
    expect(typeof again.limits?.session_idle).toBe('string');
    expect(RunConfig.parse(parse(stringify(again)))).toEqual(parsed);
  });

  it('parses durations to milliseconds', () => {
    const { operational, limits, backends } = RunConfig.parse(everything);
    expect(operational.timeouts).toEqual({ default: 90_000, per_workload: { a: 250 }, maximum: 3_600_000 });
    expect(limits).toMatchObject({ session_idle: 604_800_000, jwks_cooldown: 10_000, connect_timeout: 3_000 });
    expect(backends[0]?.webhooks[0]?.timeout).toBe(3_000);
  });

  it('has the documented default limits', () => {
    expect(RunConfig.parse(smallest).limits).toEqual({
      session_idle: 1_800_000,
      sessions_per_replica: 10_000,
      list_deadline: 5_000,
      connect_timeout: 3_000,
      max_request_bytes: 4_194_304,
      max_response_bytes: 104_857_600,
      buffered_bytes: 134_217_728,
      jwks_max_age: 300_000,
      jwks_cooldown: 30_000,
      introspection_cache: 30_000,
      max_name_length: 60,
    });
    expect(RunConfig.parse(smallest)).toMatchObject({
      listen: { host: '127.0.0.1', port: 4483, private_port: 4484 },
      operational: { timeouts: { default: 60_000 }, failure_handling: { partial_failure_mode: 'best_effort' } },
      aggregation: { conflict_resolution: 'prefix', prefix_format: '{workload}_', prefix_mode: 'always' },
      session_storage: { type: 'memory' },
      audit_config: { enabled: false, maxDataSize: 1024 },
    });
  });

  it.each([
    ['another schema version', { ...smallest, schema_version: 'v0.2.0' }, 'schema_version'],
    ['an unknown key', { ...smallest, resource_uri: 'a' }, ''],
    [
      'a Redis without address',
      { ...smallest, session_storage: { type: 'redis', redis: { key_prefix: 'k' } } },
      'session_storage.redis',
    ],
    [
      'a transport that there is not',
      { ...smallest, backends: [{ transport: 'ws', name: 'a' }] },
      'backends.0.transport',
    ],
    [
      'a secret in place of a file',
      { ...smallest, incoming: { type: 'oidc', issuer: 'https://a.example', client_secret: 's' } },
      'incoming',
    ],
  ])('rejects %s', (_, document, path) => {
    const { error } = RunConfig.safeParse(document);
    expect(error?.issues.map((issue) => issue.path.join('.'))).toEqual([path]);
  });

  it.each(documentsOf('v0.1.0'))('parses a document of an earlier operator: %s', (_name, document) => {
    expect(RunConfig.safeParse(document).error?.issues).toBeUndefined();
  });

  it('has a JSON schema with exactly its fields', () => {
    const text = readFileSync(new URL('../run-config.schema.json', import.meta.url), 'utf8');
    const schema = JSON.parse(text) as { properties: object; required: string[]; additionalProperties: boolean };
    expect(Object.keys(schema.properties).sort()).toEqual(Object.keys(RunConfig.shape).sort());
    expect(schema.required.sort()).toEqual(['backends', 'incoming', 'schema_version', 'server']);
    expect(schema.additionalProperties).toBe(false);
  });
});
