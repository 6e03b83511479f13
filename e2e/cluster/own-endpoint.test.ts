import { beforeAll, describe, expect, it } from '@jest/globals';
import { send, SessionClient } from '../gateway/session-client.ts';
import { eventually } from '../local/run-vmcp.ts';
import { deleteAt, requestAt } from '../redis/replicas.ts';
import { backend, condition, fake } from './stage.ts';
import { readPolicy } from './read-policy.ts';
import { startRedisPod } from './start-redis-pod.ts';
import { describeWithCluster } from './use-cluster.ts';
import { useStage } from './use-stage.ts';

const HOUR = 3_600;

describeWithCluster('an MCPServer with an endpoint of its own', (cluster) => {
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

  /** Another account that may call. */
  const strangerOf = async () => {
    const name = 'stranger';
    await cluster.ask('POST', `/api/v1/namespaces/${stage.namespace.name}/serviceaccounts`, { metadata: { name } });
    return name;
  };

  it('serves its program under its own names to who has a token for it', async () => {
    const { url, headers } = await place();
    const client = await SessionClient.open(url, { ...headers, authorization: await tokenFor('tools') });
    const names = await client.toolNames();
    expect(names).toHaveLength(1);
    expect(names[0]).not.toContain('tools_');
    expect((await client.call(names[0] ?? '', {})).status).toBe(200);
  });

  it('answers below its prefix, too, for a proxy in front that does not take it away', async () => {
    const { url, headers } = await place();
    const prefixed = url.replace('/mcp', '/team/tools/mcp');
    const client = await SessionClient.open(prefixed, { ...headers, authorization: await tokenFor('tools') });
    expect(await client.toolNames()).toHaveLength(1);
  });

  it('refuses who has none, or one for another audience', async () => {
    const { url, headers } = await place();
    const body = '{"jsonrpc":"2.0","id":1,"method":"ping"}';
    const authorization = await tokenFor('others');
    expect((await send(url, 'POST', headers, body)).status).toBe(401);
    expect((await send(url, 'POST', { ...headers, authorization }, body)).status).toBe(401);
  });

  it('says in its status where it is reached, and what it offers', async () => {
    const status = await stage.status('MCPServer', 'tools', ({ toolCount }) => toolCount === 1);
    expect(status).toMatchObject({ url: `http://mcp-tools-proxy.${stage.namespace.name}.svc:9000/team/tools/mcp` });
  });

  describe('of two replicas with their sessions in Redis', () => {
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

    it('serves each request of a session from any of them, for its own caller, to its end', async () => {
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
      // The others are told.
      await eventually(
        () => status(one),
        (answered) => answered === 404,
      );
    });
  });

  it('has a policy that lets its own runtime reach its program, and no other pod', async () => {
    const names = (await stage.list('Pod')).map(({ metadata }) => `${stage.namespace.name}/${metadata.name}`).sort();
    const [proxies = [], own, programs] = [/\/mcp-\w+-proxy-/, /\/mcp-tools-proxy-/, /\/mcp-tools-\w+-\w+$/].map(
      (pattern) => names.filter((name) => pattern.test(name)),
    );
    expect(proxies).toHaveLength(3);
    expect(own).toHaveLength(1);
    const policy = await readPolicy(cluster, stage.namespace.name, 'mcp-tools');
    expect(policy).toEqual({ pods: programs, admits: { 8080: own } });
  });

  it('has one that lets its program reach what its permission profile says, as far as addresses and ports can say it', async () => {
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
    // Nothing of it is in its pods.
    expect((await stage.get('Deployment', 'mcp-tools'))?.metadata.generation).toBe(before);
  }, 120_000);

  describe('whose child another MCPServer would call the same', () => {
    const uids = async (child: string) => {
      const made = await Promise.all(['Deployment', 'Service'].map((kind) => stage.get(kind, child)));
      return made.map((live) => live?.metadata.uid);
    };
    const stalled = (name: string) =>
      stage.status('MCPServer', name, (seen) => condition(seen, 'Stalled') !== undefined);
    const taken = (older: string, children: string) => ({
      status: 'True',
      reason: 'ChildNameTaken',
      message: expect.stringContaining(`MCPServer "${older}" already has the child ${children}`),
    });
    const endpoint = (name: string) => backend(name, { remoteUrl: 'https://mcp.example/mcp', proxyPort: 9000 });

    it('keeps it from one that is younger, whose program is not started', async () => {
      const before = await uids('mcp-tools-proxy');
      await stage.apply(backend('tools-proxy', fake('', 'backend')));
      expect(condition(await stalled('tools-proxy'), 'Stalled')).toMatchObject(taken('tools', 'mcp-tools-proxy'));
      expect(before).not.toContain(undefined);
      expect(await uids('mcp-tools-proxy')).toEqual(before);
      const owners = (await stage.get('Deployment', 'mcp-tools-proxy'))?.metadata.ownerReferences;
      expect(owners?.map(({ name }) => name)).toEqual(['tools']);
      await stage.remove('MCPServer', 'tools-proxy');
    });

    it('does not take it from one that is older, and gets its own when that one has gone', async () => {
      await stage.apply(backend('x-proxy', fake('', 'backend')));
      const made = async () => (await uids('mcp-x-proxy')).every((uid) => uid !== undefined);
      await eventually(made, (all) => all, 30_000);
      const before = await uids('mcp-x-proxy');
      // The API server dates by seconds: of the same second, none is older.
      const second = Math.floor(Date.now() / 1000);
      await eventually(
        () => Math.floor(Date.now() / 1000),
        (now) => now > second + 1,
      );
      await stage.apply(endpoint('x'));
      expect(condition(await stalled('x'), 'Stalled')).toMatchObject(taken('x-proxy', 'mcp-x-proxy'));
      expect(await uids('mcp-x-proxy')).toEqual(before);
      expect(condition((await stage.get('MCPServer', 'x-proxy'))?.status, 'Stalled')).toBeUndefined();

      await stage.remove('MCPServer', 'x-proxy');
      const own = await eventually(
        () => stage.get('Deployment', 'mcp-x-proxy'),
        (live) => live?.metadata.ownerReferences?.[0]?.name === 'x',
        60_000,
      );
      expect(before).not.toContain(own?.metadata.uid);
      // The status follows what was made.
      await stage.status('MCPServer', 'x', (seen) => condition(seen, 'Stalled') === undefined);
      await stage.remove('MCPServer', 'x');
    }, 150_000);
  });
});
