import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { RuntimeStatus } from '#crds/run-config/runtime-status';
import { send, type SessionClient } from '../gateway/session-client.ts';
import { eventually } from '../local/run-vmcp.ts';
import { ElectedOperators } from './elected-operators.ts';
import { type Load, underLoad, untilAllGoOn } from './load.ts';
import { podsOf, replacePods, untilSettled } from './replace-pods.ts';
import { startRedisPod } from './start-redis-pod.ts';
import { backend, condition, fake, group, type Seen, server } from './stage.ts';
import { describeWithCluster } from './use-cluster.ts';
import { useStage } from './use-stage.ts';

const REPLICAS = 2;
const MINUTES = 60_000;
const EACH_SECOND = { healthCheckInterval: '1s', unhealthyThreshold: 1, statusReportingInterval: '1s' };
/** Serves the first client address, and breaks every connection of others. */
const CHOOSY = `
  import { createServer, request } from 'node:http';
  process.argv.push('--port', '8081', '--name', 'choosy', '--tools', '1');
  await import('/app/e2e/fakes/backend/main.ts');
  let first;
  createServer((incoming, outgoing) => {
    const { remoteAddress } = incoming.socket;
    first ??= remoteAddress;
    if (remoteAddress !== first) return void incoming.socket.destroy();
    const { method, url: path, headers } = incoming;
    const asked = request({ host: 'localhost', port: 8081, method, path, headers }, (answer) => {
      outgoing.writeHead(answer.statusCode, answer.headers);
      outgoing.flushHeaders();
      answer.pipe(outgoing);
    });
    for (const side of [asked, outgoing]) side.on('error', () => incoming.socket.destroy());
    outgoing.on('close', () => asked.destroy());
    incoming.pipe(asked);
  }).listen(8080, '::');
`;

describeWithCluster('two replicas with sessions in Redis, under load,', (cluster) => {
  const stage = useStage(cluster, 'updates');

  beforeAll(async () => {
    const address = await startRedisPod(cluster, stage.namespace.name);
    await stage.apply(
      group('tools'),
      backend('plain', fake('tools', 'backend', ['--name', 'plain', '--tools', '1'])),
      server('demo', 'tools', {
        replicas: REPLICAS,
        sessionStorage: { provider: 'redis', address },
      }),
    );
    await stage.ready('demo', 2 * MINUTES);
    await settled();
  }, 4 * MINUTES);

  const settled = () => untilSettled(stage, 'demo', REPLICAS);
  const podNames = () => podsOf(stage, 'demo');
  const loaded = async (work: (load: Load) => Promise<void>) =>
    underLoad(await stage.endpoint('demo'), 'plain_tool_0', work);
  /** Runs the load during `work`, and expects that no call fails. */
  const unnoticed = async (work: (load: Load) => Promise<void>) => {
    const { failures } = await loaded(work);
    expect(failures).toEqual([]);
  };
  const children = async () =>
    (await Promise.all(['Deployment', 'Service', 'ConfigMap'].map((kind) => stage.list(kind))))
      .flat()
      .map(({ kind, metadata }) => `${kind}/${metadata.name}/${metadata.uid}`)
      .sort();

  /** Returns the status of each pod. */
  const statuses = async () => {
    const token = (await stage.get('Secret', 'vmcp-demo-sealing'))?.data?.['status-token'] ?? '';
    const [newest] = Buffer.from(token, 'base64').toString().split('\n');
    const pods = await stage.list('Pod', 'app.kubernetes.io/name=vmcp-runtime,app.kubernetes.io/instance=demo');
    return Promise.all(
      pods.map(async ({ status }) => {
        const { podIP } = status as { podIP?: string };
        const { text } = await send(`http://${podIP}:4484/status`, 'GET', { authorization: `Bearer ${newest}` });
        return RuntimeStatus.parse(JSON.parse(text));
      }),
    );
  };

  it(
    'serve each session from both pods',
    async () => {
      await unnoticed(() => Promise.resolve());
      expect(await podNames()).toHaveLength(REPLICAS);
    },
    2 * MINUTES,
  );

  it(
    'fail no call and keep every session during a rolling update',
    () => unnoticed(() => replacePods(stage, 'demo', REPLICAS)),
    3 * MINUTES,
  );

  it(
    'apply a change of resources in the running pods, without a failed call',
    async () => {
      const before = await podNames();
      await unnoticed(async () => {
        await stage.apply(backend('more', fake('tools', 'backend', ['--name', 'more', '--tools', '1'])));
        await stage.status('VirtualMCPServer', 'demo', ({ toolCount }) => toolCount === 2, MINUTES);
      });
      expect(await podNames()).toEqual(before);
    },
    3 * MINUTES,
  );

  it(
    'combine their views of a backend that only one of them reaches into one status',
    async () => {
      const { toolCount: tools = 0 } = await stage.ready('demo');
      await stage.patch('VirtualMCPServer', 'demo', {
        spec: { config: { operational: { failureHandling: EACH_SECOND } } },
      });
      const command = ['node', '--input-type=module', '-e', CHOOSY];
      await stage.apply(backend('choosy', { ...fake('tools', 'backend'), command }));
      const phaseIn = ({ backends }: { backends?: readonly { name: string; phase: string }[] | undefined }) =>
        backends?.find(({ name }) => name === 'choosy')?.phase;
      const isDegraded = (seen: Seen) => phaseIn(seen) === 'Degraded' && seen.toolCount === tools + 1;
      const status = await stage.status('VirtualMCPServer', 'demo', isDegraded, 2 * MINUTES);
      expect([status.phase, condition(status, 'Ready')]).toEqual([
        'Degraded',
        expect.objectContaining({ status: 'True', message: expect.stringContaining('choosy (Degraded)') }),
      ]);
      expect((await statuses()).map(phaseIn).sort()).toEqual(['ready', 'unavailable']);
      await stage.remove('MCPServer', 'choosy');
      await stage.patch('VirtualMCPServer', 'demo', { spec: { config: { operational: null } } });
      const isAsBefore = ({ phase, toolCount }: Seen) => phase === 'Ready' && toolCount === tools;
      await stage.status('VirtualMCPServer', 'demo', isAsBefore, MINUTES);
    },
    4 * MINUTES,
  );

  it(
    'fail no call when a pod is deleted and drains',
    async () => {
      const [victim = ''] = await podNames();
      await unnoticed(async () => {
        await stage.remove('Pod', victim);
        await eventually(podNames, (names) => names.length === REPLICAS && !names.includes(victim), MINUTES);
      });
      await settled();
    },
    3 * MINUTES,
  );

  it(
    'lose at most one call of each session when a pod is deleted by force, and create nothing twice',
    async () => {
      const made = await children();
      const [victim = ''] = await podNames();
      const { sessions } = await loaded(async (load) => {
        await cluster.ask('DELETE', `/api/v1/namespaces/${stage.namespace.name}/pods/${victim}?gracePeriodSeconds=0`);
        expect(await podNames()).not.toContain(victim);
        await untilAllGoOn(load, 10);
        await settled();
      });
      for (const { failures } of sessions) expect(failures.slice(1)).toEqual([]);
      expect(await children()).toEqual(made);
    },
    3 * MINUTES,
  );

  it(
    'serve on when the operator dies; the next one finds nothing to change',
    async () => {
      const before = await podNames();
      const made = await children();
      await unnoticed(async () => {
        process.kill(stage.operator.pid, 'SIGKILL');
        await stage.operator.ended;
        await stage.apply(backend('third', fake('tools', 'backend', ['--name', 'third', '--tools', '1'])));
        await stage.start();
        await stage.status('VirtualMCPServer', 'demo', ({ toolCount }) => toolCount === 3, MINUTES);
      });
      expect(await podNames()).toEqual(before);
      const now = await children();
      expect(now.filter((child) => !child.includes('mcp-third'))).toEqual(made);
    },
    3 * MINUTES,
  );

  describe('and two operators with leader election', () => {
    const operators = new ElectedOperators(cluster, () => stage.namespace.name);

    beforeAll(async () => {
      await stage.operator.stop();
      await operators.startTwo();
    }, 2 * MINUTES);
    afterAll(() => operators.stop());

    /** Changes the description of a tool, an edit that needs no other pod. */
    const describeTool = (description: string) => {
      const tools = [{ workload: 'plain', overrides: { tool_0: { description } } }];
      return stage.patch('VirtualMCPServer', 'demo', { spec: { config: { aggregation: { tools } } } });
    };
    const isServed = async (client: SessionClient, description: string) => {
      const { answer } = await client.request('tools/list');
      return JSON.stringify(answer).includes(`"description":"${description}"`);
    };
    /**
     * Waits for the edit in an open session at any pod, which shows that all pods have it and none has lost the
     * session.
     */
    const untilServed = (client: SessionClient, description: string) =>
      eventually(
        () => Promise.all(Array.from({ length: 8 }, () => isServed(client, description))),
        (served) => served.every(Boolean),
        2 * MINUTES,
      );

    it(
      'fail no call when both operators die at once, and serve the edits as soon as new ones run',
      async () => {
        const [before, made, client] = [await podNames(), await children(), await stage.connect('demo')];
        await unnoticed(async () => {
          await operators.kill();
          await describeTool('edited while nobody acted');
          expect(await isServed(client, 'edited while nobody acted')).toBe(false);
          await operators.startTwo();
          await untilServed(client, 'edited while nobody acted');
        });
        expect([await podNames(), await children()]).toEqual([before, made]);
      },
      4 * MINUTES,
    );

    it(
      'serve the next edit after the Lease is overwritten: the leader ends, and the other operator takes over',
      async () => {
        const [before, made, client] = [await podNames(), await children(), await stage.connect('demo')];
        await unnoticed(async () => {
          const former = await operators.leader();
          await operators.usurpLease();
          expect(await former.ended).toBe(1);
          expect(await operators.leader()).not.toBe(former);
          await describeTool('edited under the next one');
          await untilServed(client, 'edited under the next one');
        });
        expect([await podNames(), await children()]).toEqual([before, made]);
      },
      4 * MINUTES,
    );
  });
});
