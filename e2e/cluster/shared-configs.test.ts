import { beforeAll, expect, it } from '@jest/globals';
import { send } from '../gateway/session-client.ts';
import type { Written } from './send-manifests.ts';
import { backend, condition, fake, group, secret, type Seen, server } from './stage.ts';
import { describeWithCluster } from './use-cluster.ts';
import { useStage } from './use-stage.ts';

const shared = (kind: string, name: string, spec: object): Written => ({
  apiVersion: 'vmcp.dev/v1alpha1',
  kind,
  metadata: { name },
  spec,
});
const key = shared('MCPExternalAuthConfig', 'key', {
  type: 'headerInjection',
  headerInjection: { headerName: 'X-Key', valueSecretRef: { name: 'api', key: 'key' } },
});
const issuer = shared('MCPOIDCConfig', 'issuer', { type: 'inline', inline: { issuer: 'https://login.example' } });
const oidcConfigRef = { name: 'issuer', audience: 'tools' };
/** With an endpoint of its own where anything asks for one, but without pods: this is about what is said. */
const remote = { remoteUrl: 'https://mcp.example/mcp', replicas: 0 };

describeWithCluster('a shared configuration that is deleted while it is in use', (cluster) => {
  const stage = useStage(cluster, 'shared');
  const resourceUrl = 'https://gateway.example/mcp';

  beforeAll(async () => {
    await stage.apply(
      secret('api', { key: 'value' }),
      key,
      issuer,
      group('tools'),
      backend('plain', fake('tools', 'backend', ['--name', 'plain', '--tools', '1'])),
      backend('keyed', { ...fake('tools', 'whoami'), externalAuthConfigRef: { name: 'key' } }),
      backend('alone', { ...remote, proxyPort: 9000, externalAuthConfigRef: { name: 'key' } }),
      backend('guarded', { ...remote, oidcConfigRef }),
      server('demo', 'tools', { incomingAuth: { type: 'oidc', resourceUrl, oidcConfigRef } }),
    );
    await stage.ready('demo', 90_000);
  }, 150_000);

  const reasonOf = (type: string) => (seen: Seen) => condition(seen, type)?.reason;
  const says = (kind: string, name: string, type: string, reason: string) =>
    stage.status(kind, name, (seen) => reasonOf(type)(seen) === reason);
  const messageOf = async (kind: string, name: string, type: string, reason: string) =>
    condition(await says(kind, name, type, reason), type)?.message;
  const saysNoMore = (kind: string, name: string, type: string, reason: string) =>
    stage.status(kind, name, (seen) => reasonOf(type)(seen) !== reason);
  const runtimePods = async () => {
    const pods = await stage.list('Pod', 'app.kubernetes.io/name=vmcp-runtime,app.kubernetes.io/instance=demo');
    return pods.map(({ metadata }) => metadata.uid);
  };

  it('is said by each MCPServer and VirtualMCPServer that gets its credentials from it, until it is there again', async () => {
    const missing = 'MCPExternalAuthConfig "key"';
    await stage.remove('MCPExternalAuthConfig', 'key');
    for (const [kind, name, type] of [
      ['VirtualMCPServer', 'demo', 'BackendsResolved'],
      ['MCPServer', 'keyed', 'NoCredentials'],
      ['MCPServer', 'alone', 'Ready'],
    ] as const)
      expect([name, await messageOf(kind, name, type, 'AuthConfigNotFound')]).toEqual([
        name,
        expect.stringContaining(missing),
      ]);
    const demo = (await stage.get('VirtualMCPServer', 'demo'))?.status;
    expect(demo?.backends?.find(({ name }) => name === 'keyed')?.phase).toBe('Excluded');
    expect((await stage.get('MCPServer', 'plain'))?.status?.conditions?.map(({ type }) => type)).toEqual(['Ready']);

    await stage.apply(key);
    await stage.ready('demo');
    await saysNoMore('MCPServer', 'keyed', 'NoCredentials', 'AuthConfigNotFound');
    await saysNoMore('MCPServer', 'alone', 'Ready', 'AuthConfigNotFound');
  }, 120_000);

  it('is said by each MCPServer and VirtualMCPServer whose callers it lets in; what was served is served on', async () => {
    const pods = await runtimePods();
    const place = await stage.endpoint('demo');
    await stage.remove('MCPOIDCConfig', 'issuer');
    for (const [kind, name] of [
      ['VirtualMCPServer', 'demo'],
      ['MCPServer', 'guarded'],
    ] as const)
      expect([name, await messageOf(kind, name, 'Ready', 'OidcConfigNotFound')]).toEqual([
        name,
        expect.stringContaining('MCPOIDCConfig "issuer", which does not exist: create it'),
      ]);
    expect((await stage.get('VirtualMCPServer', 'demo'))?.status?.phase).toBe('Degraded');
    // As before: who has no token is not let in.
    expect((await send(place.url, 'POST', place.headers, '{}')).status).toBe(401);

    await stage.apply(issuer);
    await stage.ready('demo');
    await saysNoMore('MCPServer', 'guarded', 'Ready', 'OidcConfigNotFound');
    expect(await runtimePods()).toEqual(pods);
  }, 120_000);
});
