import { afterAll, afterEach, beforeAll, expect, it } from '@jest/globals';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Program } from '../gateway/start-program.ts';
import { KIND_NAMES } from '#crds/kinds/index';
import { eventually } from '../local/run-vmcp.ts';
import { ElectedOperators } from './elected-operators.ts';
import { countWrites, isLeader, readMetric, sumOf, untilReady } from './operator-metrics.ts';
import { installDefinitions } from './stage.ts';
import { startOperator } from './start-operator.ts';
import { describeWithCluster, type Namespace } from './use-cluster.ts';

const API = 'vmcp.dev/v1alpha1';

interface Written {
  kind: string;
  metadata: { name: string };
  spec: object;
}

const group = (name: string): Written => ({ kind: 'MCPGroup', metadata: { name }, spec: { description: name } });
const remote = (name: string, groupRef: string): Written => ({
  kind: 'MCPServer',
  metadata: { name },
  spec: { remoteUrl: `http://127.0.0.1:9/${name}`, transport: 'streamable-http', groupRef },
});
const gateway = (name: string, groupRef: string): Written => ({
  kind: 'VirtualMCPServer',
  metadata: { name },
  spec: { incomingAuth: { type: 'anonymous' }, config: { groupRef } },
});
const header = (name: string): Written => ({
  kind: 'MCPExternalAuthConfig',
  metadata: { name },
  spec: {
    type: 'headerInjection',
    headerInjection: { headerName: 'x-key', valueSecretRef: { name: 'key', key: 'value' } },
  },
});
const issuer = (name: string): Written => ({
  kind: 'MCPOIDCConfig',
  metadata: { name },
  spec: { type: 'inline', inline: { issuer: 'https://issuer.example.com' } },
});

describeWithCluster('the operator', (cluster) => {
  let namespace: Namespace;
  const running: Program[] = [];
  const operators = new ElectedOperators(cluster, () => namespace.name);

  beforeAll(async () => {
    await installDefinitions(cluster);
    namespace = await cluster.makeNamespace('operator');
  });
  afterEach(async () => {
    await Promise.all(running.splice(0).map((program) => program.stop()));
    await operators.stop();
  });
  afterAll(() => namespace.delete());

  async function apply(...objects: Written[]): Promise<void> {
    const items = objects.map((object) => ({ apiVersion: API, ...object }));
    const text = JSON.stringify({ apiVersion: 'v1', kind: 'List', items });
    const applied = await cluster.kubectl(['-n', namespace.name, 'apply', '-f', '-'], text);
    expect([applied.code, applied.stderr]).toEqual([0, '']);
  }

  async function start(...flags: string[]): Promise<Program> {
    const operator = startOperator(cluster, [namespace.name], flags);
    running.push(operator);
    await untilReady(operator);
    return operator;
  }

  const until = (condition: () => Promise<boolean>, deadline: number) =>
    eventually(condition, (holds) => holds, deadline);
  const phaseOf = async (kind: string, name: string): Promise<unknown> => {
    const { body } = await cluster.ask('GET', `/apis/${API}/namespaces/${namespace.name}/${kind}/${name}`);
    return body.status?.phase;
  };

  it('acts in one of two processes, and hands over before its Lease would end when it is told to end', async () => {
    const [leader, other] = await operators.startTwo();
    await sleep(3000);
    expect([await isLeader(leader), await isLeader(other)]).toEqual([true, false]);
    expect(await countWrites(other)).toBe(0);

    process.kill(leader.pid, 'SIGTERM');
    const toldAt = Date.now();
    await until(() => isLeader(other), 10_000);
    // Without the hand-over it takes the 15 s of the Lease.
    expect(Date.now() - toldAt).toBeLessThan(10_000);
    expect(await leader.ended).toBe(0);
    await apply(group('after-hand-over'));
    await until(async () => (await phaseOf('mcpgroups', 'after-hand-over')) === 'Ready', 60_000);
    expect(await operators.leaseTransitions()).toBeGreaterThan(0);
  });

  it('ends when it loses its Lease, and writes nothing afterwards', async () => {
    const leader = await operators.start();
    await until(() => isLeader(leader), 20_000);
    await operators.usurpLease();
    expect(await Promise.race([leader.ended, sleep(5000, 'it goes on')])).toBe(1);
    expect(leader.output()).toContain('the Lease is lost');
    await apply(group('nobody-leads'));
    await sleep(1000);
    expect(await phaseOf('mcpgroups', 'nobody-leads')).toBeUndefined();
  });

  it('takes over from a process that was killed when the time of its Lease is over, not before', async () => {
    const [leader, other] = await operators.startTwo();
    process.kill(leader.pid, 'SIGKILL');
    const killedAt = Date.now();
    await until(() => isLeader(other), 25_000);
    const after = Date.now() - killedAt;
    expect(after).toBeGreaterThan(12_000);
    expect(after).toBeLessThan(24_000);
  });

  it('writes nothing while nothing changes, however often it looks at 50 resources', async () => {
    const groups = ['a', 'b', 'c', 'd', 'e'].map((name) => `steady-${name}`);
    await cluster.kubectl(['-n', namespace.name, 'create', 'secret', 'generic', 'key', '--from-literal=value=x']);
    const backends = groups.flatMap((name) => Array.from({ length: 7 }, (_, i) => remote(`${name}-${i}`, name)));
    const servers = groups.map((name) => gateway(name, name));
    const shared = [header('key-one'), header('key-two'), issuer('issuer-one'), issuer('issuer-two'), group('empty')];
    await apply(...groups.map(group), ...backends, ...servers, ...shared);
    const operator = await start('--resync=1s');
    const works = () => sumOf(operator, 'vmcp_operator_reconciles_total');

    // Pods come up, are asked, and are told of their document.
    let writes = -1;
    await until(async () => {
      const before = writes;
      await sleep(4000);
      writes = await countWrites(operator);
      return writes === before && writes > 0;
    }, 90_000);

    const versions = await versionsOfAll();
    const looked = await works();
    await sleep(12_000);
    expect((await works()) - looked).toBeGreaterThan(50 * 8);
    const kinds = await readMetric(operator, 'vmcp_operator_api_requests_total');
    expect({ writes: await countWrites(operator), kinds }).toMatchObject({ writes });
    expect(await versionsOfAll()).toEqual(versions);

    // Another one that starts among all this changes nothing either.
    await operator.stop();
    const next = await start('--resync=1s');
    await until(async () => (await sumOf(next, 'vmcp_operator_reconciles_total')) > 50 * 3, 30_000);
    expect(await countWrites(next)).toBe(0);
    expect(await versionsOfAll()).toEqual(versions);
  }, 240_000);

  /** Versions of the resources and of what the operator made of them, in this namespace. */
  async function versionsOfAll(): Promise<Record<string, string>> {
    const own = Object.values(KIND_NAMES).map(({ plural }) => `${plural}.vmcp.dev`);
    const children = ['configmaps', 'secrets', 'services', 'serviceaccounts', 'networkpolicies'];
    const kinds = [...own, ...children].join(',');
    const format = '{range .items[*]}{.kind}/{.metadata.name} {.metadata.resourceVersion}{"\\n"}{end}';
    const { code, stdout } = await cluster.kubectl(['-n', namespace.name, 'get', kinds, '-o', `jsonpath=${format}`]);
    expect(code).toBe(0);
    return Object.fromEntries(
      stdout
        .trim()
        .split('\n')
        .map((line) => line.split(' ')),
    ) as Record<string, string>;
  }
});
