import { beforeAll, describe, expect, it } from '@jest/globals';
import { send, SessionClient } from '../gateway/session-client.ts';
import { eventually } from '../local/run-vmcp.ts';
import { deleteAt, requestAt } from '../redis/replicas.ts';
import { backend, fake } from './stage.ts';
import { readPolicy } from './read-policy.ts';
import { startRedisPod } from './start-redis-pod.ts';
import { describeWithCluster } from './use-cluster.ts';
import { useStage } from './use-stage.ts';

const HOUR = 3_600;

describeWithCluster('the endpoint of an MCPServer', (cluster) => {
  const stage = useStage(cluster, 'endpoint');

  beforeAll(async () => {
    await stage.apply(
      backend('tools', {
        ...fake('', 'backend', ['--name', 'tools', '--tools', '2']),
        oidcConfig: { type: 'kubernetes', kubernetes: { audience: 'tools' } },
        toolsFilter: ['tool_1'],
        proxyPort: 9000,
        endpointPrefix: '/team/tools',
      }),
    );
    await stage.status('MCPServer', 'tools', ({ phase }) => phase === 'Ready', 90_000);
  }, 150_000);

  const place = async () => {
    const service = await stage.get('Service', 'mcp-tools-proxy');
    const address = (service?.spec as { clusterIP?: string } | undefined)?.clusterIP ?? '';
    return {
      url: `http://${address}:9000/mcp`,
      headers: { host: `mcp-tools-proxy.${stage.namespace.name}.svc:9000` },
    };
  };
  const tokenFor = async (audience: string, account = 'default') => {
    const path = `/api/v1/namespaces/${stage.namespace.name}/serviceaccounts/${account}/token`;
    const spec = { audiences: [audience], expirationSeconds: HOUR };
    const { body } = await cluster.ask('POST', path, {
      apiVersion: 'authentication.k8s.io/v1',
      kind: 'TokenRequest',
      spec,
    });
    return `Bearer ${(body as { status: { token: string } }).status.token}`;
  };

  /** Returns a token of another account that may call. */
  const strangerOf = async () => {
    const name = 'stranger';
    await cluster.ask('POST', `/api/v1/namespaces/${stage.namespace.name}/serviceaccounts`, { metadata: { name } });
    return name;
  };

  it('serves the program’s own tool names to a caller with a token for it', async () => {
    const { url, headers } = await place();
    const client = await SessionClient.open(url, { ...headers, authorization: await tokenFor('tools') });
    const names = await client.toolNames();
    expect(names).toHaveLength(1);
    expect(names[0]).not.toContain('tools_');
    expect((await client.call(names[0] ?? '', {})).status).toBe(200);
  });

  it('answers below its prefix, too, for a proxy in front that does not strip it', async () => {
    const { url, headers } = await place();
    const prefixed = url.replace('/mcp', '/team/tools/mcp');
    const client = await SessionClient.open(prefixed, { ...headers, authorization: await tokenFor('tools') });
    expect(await client.toolNames()).toHaveLength(1);
  });

  it('refuses a caller without a token, or with one for another audience', async () => {
    const { url, headers } = await place();
    const body = '{"jsonrpc":"2.0","id":1,"method":"ping"}';
    const authorization = await tokenFor('others');
    expect((await send(url, 'POST', headers, body)).status).toBe(401);
    expect((await send(url, 'POST', { ...headers, authorization }, body)).status).toBe(401);
  });

  it('reports its URL and its tools in the status', async () => {
    const status = await stage.status('MCPServer', 'tools', ({ toolCount }) => toolCount === 1);
    expect(status).toMatchObject({ url: `http://mcp-tools-proxy.${stage.namespace.name}.svc:9000/team/tools/mcp` });
  });

  describe('with two replicas and sessions in Redis', () => {
    const PODS = 2;
    const endpoints = async () => {
      const pods = await stage.list('Pod', 'app.kubernetes.io/name=vmcp-proxy,app.kubernetes.io/instance=shared');
      return pods.map(({ status }) => `http://${(status as { podIP?: string } | undefined)?.podIP ?? ''}:4483/mcp`);
    };

    beforeAll(async () => {
      const address = await startRedisPod(cluster, stage.namespace.name);
      await stage.apply(
        backend('shared', {
          ...fake('', 'backend', ['--name', 'shared', '--tools', '2']),
          oidcConfig: { type: 'kubernetes', kubernetes: { audience: 'shared' } },
          replicas: PODS,
          sessionStorage: { provider: 'redis', address },
        }),
      );
      await stage.status('MCPServer', 'shared', ({ phase }) => phase === 'Ready', 120_000);
      await eventually(endpoints, (all) => all.length === PODS, 60_000);
    }, 210_000);

    it('serves each request of a session on any replica, for its own caller only, until the session ends', async () => {
      const [one = '', other = ''] = await endpoints();
      const host = `mcp-shared-proxy.${stage.namespace.name}.svc:4483`;
      const client = await SessionClient.open(one, { host, authorization: await tokenFor('shared') });
      const [tool = ''] = await client.toolNames();
      for (const url of [other, one, other]) {
        const listed = await requestAt({ url }, client, 'tools/list');
        expect([url, listed.status, listed.answer.result?.tools]).toEqual([
          url,
          200,
          [expect.anything(), expect.anything()],
        ]);
        const called = await requestAt({ url }, client, 'tools/call', { name: tool, arguments: {} });
        expect([url, called.status, called.answer.error]).toEqual([url, 200, undefined]);
      }
      const ping = '{"jsonrpc":"2.0","id":9,"method":"ping"}';
      const nobody = Object.fromEntries(Object.entries(client.headers).filter(([name]) => name !== 'authorization'));
      expect((await send(other, 'POST', nobody, ping)).status).toBe(401);
      const stranger = { ...client.headers, authorization: await tokenFor('shared', await strangerOf()) };
      expect((await send(other, 'POST', stranger, ping)).status).toBe(404);
      expect((await deleteAt({ url: other }, client)).status).toBe(204);
      const status = async (url: string) => (await requestAt({ url }, client, 'ping')).status;
      expect(await status(other)).toBe(404);
      // The other replica learns of the session's end a moment later.
      await eventually(
        () => status(one),
        (answered) => answered === 404,
      );
    });
  });

  it('has a policy that admits only its own runtime to its program', async () => {
    const names = (await stage.list('Pod')).map(({ metadata }) => `${stage.namespace.name}/${metadata.name}`).sort();
    const [proxies = [], own, programs] = [/\/mcp-\w+-proxy-/, /\/mcp-tools-proxy-/, /\/mcp-tools-\w+-\w+$/].map(
      (pattern) => names.filter((name) => pattern.test(name)),
    );
    expect(proxies).toHaveLength(3);
    expect(own).toHaveLength(1);
    const policy = await readPolicy(cluster, stage.namespace.name, 'mcp-tools');
    expect(policy).toEqual({ pods: programs, admits: { 8080: own } });
  });

  it('has a policy that limits its program to its permission profile, as far as addresses and ports express it', async () => {
    const outbound = { allow_host: ['10.0.0.0/8', '192.0.2.7'], allow_port: [443] };
    const data = { 'profile.json': JSON.stringify({ network: { outbound } }) };
    const profile = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'profile' }, data };
    await stage.apply(profile);
    const before = (await stage.get('Deployment', 'mcp-tools'))?.metadata.generation;
    const names = 'anywhere at 53/UDP,53/TCP';
    for (const [permissionProfile, reaches] of [
      [{ type: 'builtin', name: 'none' }, []],
      [{ type: 'configmap', name: 'profile', key: 'profile.json' }, [names, '10.0.0.0/8,192.0.2.7/32 at 443/TCP']],
      [{ type: 'builtin', name: 'network', key: null }, undefined],
    ] as const) {
      await stage.patch('MCPServer', 'tools', { spec: { permissionProfile } });
      await eventually(
        () => readPolicy(cluster, stage.namespace.name, 'mcp-tools'),
        (policy) => JSON.stringify(policy.reaches) === JSON.stringify(reaches),
        30_000,
      );
    }
    // The profile is not part of the pods.
    expect((await stage.get('Deployment', 'mcp-tools'))?.metadata.generation).toBe(before);
  }, 120_000);

  it('coexists with a server whose name ends in -proxy, in either order of one apply', async () => {
    const endpoint = (name: string) => backend(name, { ...fake('', 'backend'), proxyPort: 9000 });
    const program = (name: string) => backend(name, fake('', 'backend'));
    await stage.apply(program('foo-proxy'), endpoint('foo'), endpoint('bar'), program('bar-proxy'));
    for (const name of ['foo', 'foo-proxy', 'bar', 'bar-proxy'])
      await stage.status('MCPServer', name, ({ phase }) => phase === 'Ready', 90_000);
    const ownerOf = async (child: string) =>
      (await stage.get('Deployment', child))?.metadata.ownerReferences?.map(({ name }) => name);
    expect(await Promise.all(['mcp-foo', 'mcp-foo-proxy', 'mcp-foo-proxy-x'].map(ownerOf))).toEqual([
      ['foo'],
      ['foo'],
      ['foo-proxy'],
    ]);
    for (const name of ['foo', 'foo-proxy', 'bar', 'bar-proxy']) await stage.remove('MCPServer', name);
  }, 240_000);
});
