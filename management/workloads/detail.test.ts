import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { WorkloadDetail } from '../records/workload.ts';
import type { StoredResource } from '../stores/resources.ts';
import { applyDetail, renderDetail } from './detail.ts';
import { readSpec } from './spec.ts';
import { recorded, spec, word } from './testdata/generate-workloads.ts';

const place = { host: '127.0.0.1', hasPaths: true, profile: undefined };
const stored = (spec: Record<string, unknown>, annotations: Record<string, string> = {}): StoredResource => ({
  kind: 'MCPServer',
  name: 'search',
  labels: {},
  annotations,
  spec,
  version: '1',
});
const render = (spec: Record<string, unknown>) => renderDetail(stored(spec), place);
const edit = (spec: Record<string, unknown>, sent: WorkloadDetail) => applyDetail(sent, stored(spec), place);

describe('renderDetail and applyDetail', () => {
  it('change nothing when a record is sent back as it was read', () => {
    fc.assert(
      fc.property(spec, recorded, fc.boolean(), (written, annotations, hasPaths) => {
        const there = { ...place, hasPaths };
        const detail: unknown = JSON.parse(JSON.stringify(renderDetail(stored(written, annotations), there)));
        const edited = applyDetail(WorkloadDetail.parse(detail), stored(written, annotations), there);
        expect(edited.spec).toEqual(written);
        expect(edited.annotations).toEqual(annotations);
        expect(edited.profile).toBeUndefined();
      }),
      { numRuns: 200 },
    );
  });

  it('read and write perSession', () => {
    const written = { command: ['cups'], transport: 'stdio' };
    expect(render({ ...written, stdioProcess: 'perSession' })).toMatchObject({ stdio_process: 'perSession' });
    expect(render(written)).not.toHaveProperty('stdio_process');
    expect(edit(written, { stdio_process: 'perSession' }).spec).toEqual({ ...written, stdioProcess: 'perSession' });
  });

  it('keep every field that is not changed', () => {
    fc.assert(
      fc.property(spec, fc.array(word, { minLength: 1, maxLength: 3 }), (written, tools) => {
        const edited = edit(written, { ...render(written), tools });
        expect(edited.spec).toEqual({ ...written, toolsFilter: tools });
      }),
      { numRuns: 100 },
    );
  });

  it('read a new workload as the record that created it', () => {
    fc.assert(
      fc.property(spec, (written) => {
        const detail = render(written);
        const { permissionProfile, oidcConfig } = readSpec(written);
        // The record shows the result of these references, not the references.
        fc.pre(permissionProfile?.type !== 'configmap' && oidcConfig?.type !== 'kubernetes');
        const made = edit({}, detail);
        expect(renderDetail(stored(made.spec, made.annotations), place)).toEqual(detail);
      }),
      { numRuns: 100 },
    );
  });

  it('show the valid fields of a resource with an invalid one', () => {
    expect(render({ image: 7, env: [{ name: 'A', value: 'b' }], nonsense: 1 })).toMatchObject({ env_vars: { A: 'b' } });
  });
});

describe('applyDetail', () => {
  const written = {
    image: 'example/search:1',
    env: [{ name: 'A', value: 'b' }],
    secrets: [{ name: 's', key: 'k', targetEnvName: 'T' }],
    volumes: [{ name: 'mine', hostPath: '/a', mountPath: '/b', readOnly: true }],
    podTemplateSpec: { spec: { nodeSelector: { disk: 'ssd' } } },
  };

  it('shows and changes the package that a local program runs', () => {
    const program = { command: ['npx', '-y', 'files@1'], groupRef: 'tools' };
    expect(render(program)).toMatchObject({ command: ['npx', '-y', 'files@1'] });
    const after = edit(program, { ...render(program), command: ['npx', '-y', 'files@2'] });
    expect(after.spec).toEqual({ ...program, command: ['npx', '-y', 'files@2'] });
  });

  it('keeps fields that are not sent, and removes fields that are sent empty', () => {
    expect(edit(written, {}).spec).toEqual(written);
    const after = edit(written, { env_vars: {}, secrets: [], volumes: [] });
    expect(after.spec).toEqual({ image: 'example/search:1', podTemplateSpec: written.podTemplateSpec });
  });

  it('keeps the names of volumes, and gives new volumes unused names', () => {
    const after = edit(written, { volumes: ['/c:/d', '/a:/b:ro', '/e:/f:rw'] });
    expect(after.spec.volumes).toEqual([
      { name: 'volume-1', hostPath: '/c', mountPath: '/d' },
      { name: 'mine', hostPath: '/a', mountPath: '/b', readOnly: true },
      { name: 'volume-2', hostPath: '/e', mountPath: '/f' },
    ]);
    expect(edit(written, { volumes: ['/a:/b'] }).spec.volumes).toEqual([
      { name: 'volume-1', hostPath: '/a', mountPath: '/b' },
    ]);
    expect(() => edit(written, { volumes: ['relative:/x'] })).toThrow('body volumes[0]');
  });

  it.each([
    ['secrets[0].name', { secrets: [{ name: 'hunter2', target: 'T' }] }],
    ['secrets[0].name', { secrets: [{ name: 'hunter2/a/b' }] }],
    ['oidc.client_secret', { oidc: { issuer: 'https://i.example', client_secret: 'hunter2' } }],
    ['oauth_config.client_secret.name', { oauth_config: { client_secret: { name: 'hunter2' } } }],
    ['oauth_config.bearer_token.name', { oauth_config: { bearer_token: { name: 'hunter2' } } }],
    ['header_forward', { header_forward: { add_headers_from_secret: { 'X-Key': 'hunter2' } } }],
  ])('rejects a secret in place of its reference, and does not repeat it: %s', (field, sent) => {
    const attempt = () => edit(written, sent);
    expect(attempt).toThrow(expect.objectContaining({ code: 'inline_secret' }));
    expect(attempt).toThrow(`body ${field}`);
    expect(attempt).not.toThrow('hunter2');
  });

  it('cannot change the name or the address of endpoints', () => {
    expect(edit(written, { name: 'search', host: '127.0.0.1' }).spec).toEqual(written);
    expect(() => edit(written, { name: 'other' })).toThrow('the name cannot be changed');
    expect(() => edit(written, { host: '0.0.0.0' })).toThrow('body host');
  });

  it('records and returns fields that mean nothing to an MCPServer', () => {
    const headers = [{ name: 'X-Key', required: true, secret: true }];
    const remoteServer = { remoteUrl: 'https://x.example' };
    const sent = { headers, oauth_config: { client_id: 'me', skip_browser: true } };
    const { spec: made, annotations } = edit(remoteServer, sent);
    expect(made).toEqual({ ...remoteServer, remoteAuth: { clientId: 'me' } });
    expect(renderDetail(stored(made, annotations), place)).toMatchObject(sent);
    expect(applyDetail({ headers: [], oauth_config: {} }, stored(made, annotations), place)).toEqual({
      spec: remoteServer,
      annotations: {},
    });
  });

  it('records, returns and removes the source of a workload and its engine settings', () => {
    const sent: WorkloadDetail = {
      publish: ['8080:80', '[::1]:53:53/udp'],
      allow_docker_gateway: true,
      env_file_dir: '/run/secrets',
      debug: true,
      registry_url: 'https://registry.example/servers.json',
      registry_api_url: 'https://registry.example',
      runtime_config: { builder_image: 'node:24', additional_packages: ['git'] },
      container_name: 'box',
      container_labels: { tier: 'gold' },
      ignore_config: { loadGlobal: true, printOverlays: false },
    };
    const made = edit(written, sent);
    expect(made.spec).toMatchObject({ publish: sent.publish, allowDockerGateway: true, envFileDir: '/run/secrets' });
    expect(renderDetail(stored(made.spec, made.annotations), place)).toMatchObject(sent);
    const nothing: WorkloadDetail = {
      publish: [],
      env_file_dir: '',
      registry_url: '',
      registry_api_url: '',
      runtime_config: {},
      container_name: '',
      container_labels: {},
      ignore_config: {},
    };
    expect(applyDetail(nothing, stored(made.spec, made.annotations), place)).toEqual({
      spec: { ...written, allowDockerGateway: true, debug: true },
      annotations: {},
    });
  });

  it('ignores a foreign annotation of the same name, and accepts one of another API group', () => {
    const theirs = { 'example.com/recorded': 'yes' };
    const registry_url = 'https://registry.example/a';
    const made = applyDetail({ registry_url }, stored(written, theirs), place);
    expect(made.annotations).toEqual({ ...theirs, 'vmcp.dev/recorded': JSON.stringify({ registry_url }) });
    const ours = { 'tools.example.com/recorded': JSON.stringify({ registry_url }) };
    expect(renderDetail(stored(written, ours), place)).toMatchObject({ registry_url });
    expect(applyDetail({ registry_url: '' }, stored(written, ours), place).annotations).toEqual({});
  });

  it.each(['env_file_dir', 'ignore_config'] as const)('rejects %s in a cluster, where it names no file', (field) => {
    const sent = { env_file_dir: '/run/secrets', ignore_config: { loadGlobal: true } };
    const attempt = () => applyDetail({ [field]: sent[field] }, stored(written), { ...place, hasPaths: false });
    expect(attempt).toThrow(expect.objectContaining({ code: 'path_not_available' }));
  });

  it.each(['https://user:hunter2@registry.example/', 'javascript:alert(1)', 'file:relative'])(
    'rejects an invalid registry location: %s',
    (registry_url) => {
      expect(WorkloadDetail.safeParse({ registry_url }).success).toBe(false);
    },
  );

  it('keeps the fields of an issuer and of policies that the record lacks', () => {
    const oidcConfig = {
      type: 'inline',
      resourceUrl: 'https://r.example',
      inline: { issuer: 'https://i.example', audience: 'a', groupsClaim: 'teams' },
    };
    const authzConfig = { type: 'inline', mode: 'audit', inline: { policies: ['permit(principal,action,resource);'] } };
    const before = { ...written, oidcConfig, authzConfig };
    const policies = JSON.stringify({ cedar: { policies: [] } });
    const after = edit(before, { oidc: { issuer: 'https://i.example', audience: 'b' }, authz_config: policies });
    expect(after.spec.oidcConfig).toEqual({
      ...oidcConfig,
      inline: { issuer: 'https://i.example', audience: 'b', groupsClaim: 'teams' },
    });
    expect(after.spec.authzConfig).toEqual({
      type: 'inline',
      mode: 'audit',
      inline: { policies: [], entitiesJson: '[]' },
    });
    expect(() => edit(before, { authz_config: 'permit' })).toThrow('body authz_config: not JSON');
  });

  it('keeps the fields of a remote login that the record lacks', () => {
    const remoteAuth = { issuer: 'https://i.example', timeout: '2m', administrators: ['ann'], scopes: ['a'] };
    const before = { remoteUrl: 'https://r.example', remoteAuth };
    const { spec } = edit(before, { oauth_config: { issuer: 'https://i.example', scopes: ['b'] } });
    expect(spec.remoteAuth).toEqual({ ...remoteAuth, scopes: ['b'] });
    expect(edit(before, { oauth_config: {} }).spec).toEqual({ remoteUrl: 'https://r.example' });
  });

  it('changes cluster and shared issuers only at their definition', () => {
    const cluster = { type: 'kubernetes', kubernetes: { audience: 'a', serviceAccount: 'caller' } };
    expect(edit({ ...written, oidcConfig: cluster }, { oidc: { audience: 'b' } }).spec.oidcConfig).toEqual({
      type: 'kubernetes',
      kubernetes: { audience: 'b', serviceAccount: 'caller' },
    });
    const shared = { name: 'company', audience: 'a', resourceUrl: 'https://r.example' };
    expect(edit({ ...written, oidcConfigRef: shared }, { oidc: { audience: 'b' } }).spec.oidcConfigRef).toEqual({
      ...shared,
      audience: 'b',
    });
    expect(() => edit(written, { oidc: { audience: 'b' } })).toThrow('body oidc.issuer');
  });

  it('recognizes the built-in permission profiles, and stores others separately', () => {
    expect(edit(written, { network_isolation: true }).spec.permissionProfile).toEqual({
      type: 'builtin',
      name: 'none',
    });
    expect(edit(written, { permission_profile: { name: 'network' } }).spec.permissionProfile).toEqual({
      type: 'builtin',
      name: 'network',
    });
    const profile = { network: { outbound: { allow_host: ['10.0.0.0/8'] } } };
    expect(edit(written, { permission_profile: profile })).toMatchObject({
      profile,
      spec: { permissionProfile: { type: 'configmap', name: 'search-permissions', key: 'profile.json' } },
    });
    expect(() => edit(written, { permission_profile: profile, network_isolation: false })).toThrow(
      'body network_isolation',
    );
  });
});
