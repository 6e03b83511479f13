import { afterEach, describe, expect, it } from '@jest/globals';
import type { Resources, StoredResource } from '../stores/resources.ts';
import { openRegistries, type OpenRegistries } from './testdata/open-registries.ts';

let opened: OpenRegistries;
afterEach(() => opened.close());

const resource = (name: string, spec: Record<string, unknown>): StoredResource => ({
  ...{ kind: 'MCPServer', name, labels: {}, annotations: {}, spec, version: '1', uid: `uid-${name}` },
  createdAt: '2026-04-04T00:00:00Z',
});

async function openCluster(...found: StoredResource[]): Promise<OpenRegistries> {
  const only = (): Promise<never> => Promise.reject(new Error('the registry only lists'));
  const resources: Resources = {
    list: (kind) => Promise.resolve(kind === 'MCPServer' ? found : []),
    ...{ get: only, create: only, replace: only, delete: only },
  };
  opened = await openRegistries({ cluster: { resources, namespace: 'team-a' } });
  return opened;
}

describe('the registry of a cluster', () => {
  it('lists the MCPServers, each with the object that it is', async () => {
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

  it('cannot be set', async () => {
    const { ask } = await openCluster();
    const { status, body } = await ask('PUT', '/registry/cluster', {});
    expect([status, body.code]).toEqual([404, 'not_found']);
  });

  it('makes no path of the operator’s machine readable', async () => {
    const { ask } = await openCluster();
    const { status, body } = await ask('PUT', '/registry/default', { local_path: '/etc/passwd' });
    expect([status, body.code]).toEqual([400, 'path_not_available']);
  });
});
