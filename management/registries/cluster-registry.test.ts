import { afterEach, describe, expect, it } from '@jest/globals';
import type { Resources, StoredResource } from '../stores/resources.ts';
import { answerJson, FILE, serveRegistry } from './testdata/serve-registry.ts';
import { openRegistries, type OpenRegistries } from './testdata/open-registries.ts';

let opened: OpenRegistries;
const closing: (() => Promise<void>)[] = [];
afterEach(async () => {
  await opened.close();
  for (const close of closing.splice(0)) await close();
});

const resource = (name: string, spec: Record<string, unknown>): StoredResource => ({
  ...{ kind: 'MCPServer', name, labels: {}, annotations: {}, spec, version: '1', uid: `uid-${name}` },
  createdAt: '2026-04-04T00:00:00Z',
});

async function openCluster(...found: StoredResource[]): Promise<OpenRegistries> {
  return openWith(found);
}

async function openWith(
  found: StoredResource[],
  more: () => { privateAddresses?: boolean; readDeadline?: number } = () => ({}),
): Promise<OpenRegistries> {
  const only = (): Promise<never> => Promise.reject(new Error('the registry only lists'));
  const resources: Resources = {
    list: (kind) => Promise.resolve(kind === 'MCPServer' ? found : []),
    ...{ get: only, create: only, replace: only, delete: only },
  };
  opened = await openRegistries(() => ({ cluster: { resources, namespace: 'team-a' }, ...more() }));
  return opened;
}

describe('the cluster registry', () => {
  it('lists the MCPServers with the metadata of their objects', async () => {
    const { ask } = await openCluster(
      resource('pages', { image: 'ghcr.io/example/pages:2', transport: 'streamable-http', mcpPort: 9000 }),
      resource('far', { remoteUrl: 'https://far.example.com/mcp' }),
      resource('broken', { image: 7 }),
    );
    const { body } = await ask('GET', '/registry');
    expect(body.registries.map(({ name, type, source, server_count }) => [name, type, source, server_count])).toEqual([
      ['default', 'default', '', expect.any(Number)],
      ['cluster', 'api', 'namespace team-a', 2],
    ]);
    expect((await ask('GET', '/registry/cluster/servers/pages')).body.server).toEqual({
      ...{
        name: 'pages',
        image: 'ghcr.io/example/pages:2',
        transport: 'streamable-http',
        status: 'active',
        target_port: 9000,
      },
      metadata: {
        last_updated: '2026-04-04T00:00:00Z',
        kubernetes: {
          ...{ kind: 'MCPServer', name: 'pages', namespace: 'team-a', uid: 'uid-pages' },
          ...{ image: 'ghcr.io/example/pages:2', transport: 'streamable-http' },
        },
      },
    });
    const { body: far } = await ask('GET', '/registry/cluster/servers/far');
    expect(far).toMatchObject({ is_remote: true, remote_server: { url: 'https://far.example.com/mcp' } });
  });

  it('rejects updates', async () => {
    const { ask } = await openCluster();
    const { status, body } = await ask('PUT', '/registry/cluster', {});
    expect([status, body.code]).toEqual([404, 'not_found']);
  });

  it("gives no access to files of the management API's pod", async () => {
    const { ask } = await openCluster();
    const { status, body } = await ask('PUT', '/registry/default', { local_path: '/etc/passwd' });
    expect([status, body.code]).toEqual([400, 'path_not_available']);
  });

  it('answers 504 if a new source times out', async () => {
    const silent = await serveRegistry(() => undefined);
    closing.push(() => silent.close());
    const { ask } = await openWith([], () => ({ readDeadline: 300 }));
    const { status, body } = await ask('PUT', '/registry/default', { url: `${silent.url}/r`, allow_private_ip: true });
    expect([status, body.code]).toEqual([504, 'upstream_timeout']);
  });

  it('calls private addresses only while the administrator allows them, also for stored settings', async () => {
    const inside = await serveRegistry(answerJson(FILE));
    closing.push(() => inside.close());
    let privateAddresses = true;
    const registries = await openWith([], () => ({ privateAddresses }));
    const { ask, clock, problems } = registries;
    const settings = { url: `${inside.url}/r`, allow_private_ip: true };
    expect((await ask('PUT', '/registry/default', settings)).status).toBe(200);
    expect(inside.asked).toHaveLength(1);
    privateAddresses = false;
    await registries.restart();
    const refused = await ask('PUT', '/registry/default', settings);
    expect([refused.status, refused.body.code]).toEqual([403, 'private_address_refused']);
    expect(refused.body.detail).toContain('management.allowPrivateAddresses');
    clock.now += 60 * 60_000;
    expect((await ask('GET', '/registry/default')).body.version).toBe(FILE.version);
    expect(problems.join()).toContain('--allow-private-addresses');
    const { origin } = new URL(inside.url);
    const issuer = {
      url: 'https://127.0.0.1:1/r',
      auth: { issuer: origin.replace('http:', 'https:'), client_id: 'a' },
    };
    expect((await ask('PUT', '/registry/default', issuer)).status).toBe(400);
    expect(inside.asked).toHaveLength(1);
  });
});
