import { afterAll, afterEach, beforeAll, expect, it } from '@jest/globals';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Program } from '../gateway/start-program.ts';
import { KIND_NAMES } from '#crds/kinds/index';
import { eventually } from '../local/run-vmcp.ts';
import { ElectedOperators } from './elected-operators.ts';
import { countWrites, isLeader, readMetric, sumOf, untilReady } from './operator-metrics.ts';
import { installDefinitions } from './stage.ts';
import { HASTENED, startOperator } from './start-operator.ts';
import { describeWithCluster, type Namespace } from './use-cluster.ts';

const API = 'vmcp.dev/v1alpha1';
const REQUESTS = 'vmcp_operator_api_requests_total';
const WORK = 'vmcp_operator_reconciles_total';
/**
 * Milliseconds from the death of a leader to the next one. The Lease settings limit it to 5 s, as the unit test shows;
 * here it takes 4.0 to 4.1 s. A Lease of 15 s takes 12 to 14 s.
 */
const REPLACED_WITHIN = 10_000;
/** Number of resources of each kind for the test without changes: fifty. */
const STEADY = { VirtualMCPServer: 5, MCPGroup: 6, MCPServer: 35, MCPExternalAuthConfig: 2, MCPOIDCConfig: 2 };

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

  /** Starts an operator whose timers run a minute in a second. */
  async function startHastened(): Promise<Program> {
    const operator = await startOperator(cluster, [namespace.name], [], { env: HASTENED });
    running.push(operator);
    await untilReady(operator);
    return operator;
  }

  const until = (condition: () => Promise<boolean>, deadline: number) =>
    eventually(condition, (holds) => holds, deadline);
  const statusOf = async (kind: string, name: string): Promise<{ phase?: unknown }> => {
    const { body } = await cluster.ask('GET', `/apis/${API}/namespaces/${namespace.name}/${kind}/${name}`);
    const { status = {} } = body as { status?: { phase?: unknown } };
    return status;
  };
  const phaseOf = async (kind: string, name: string) => (await statusOf(kind, name)).phase;

  it('acts in one of two processes, and hands over before its Lease expires when it gets SIGTERM', async () => {
    const [leader, other] = await operators.startTwo();
    await sleep(3000);
    expect([await isLeader(leader), await isLeader(other)]).toEqual([true, false]);
    expect(await countWrites(other)).toBe(0);

    process.kill(leader.pid, 'SIGTERM');
    await until(() => isLeader(other), 10_000);
    expect(await leader.ended).toBe(0);
    expect(leader.output()).toContain('the Lease is handed over');
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

  it('replaces a killed leader within 10 s, and not before its Lease expires', async () => {
    const [leader, other] = await operators.startTwo();
    process.kill(leader.pid, 'SIGKILL');
    const killedAt = Date.now();
    await until(() => isLeader(other), 25_000);
    const after = Date.now() - killedAt;
    expect(after).toBeGreaterThan(2000);
    expect(after).toBeLessThan(REPLACED_WITHIN);
    await apply(group('after-kill'));
    await until(async () => (await phaseOf('mcpgroups', 'after-kill')) === 'Ready', 60_000);
  });

  it('writes nothing while nothing changes, over twelve minutes of periodic work for 50 resources', async () => {
    const groups = ['a', 'b', 'c', 'd', 'e'].map((name) => `steady-${name}`);
    await cluster.kubectl(['-n', namespace.name, 'create', 'secret', 'generic', 'key', '--from-literal=value=x']);
    const backends = groups.flatMap((name) => Array.from({ length: 7 }, (_, i) => remote(`${name}-${i}`, name)));
    const servers = groups.map((name) => gateway(name, name));
    const shared = [header('key-one'), header('key-two'), issuer('issuer-one'), issuer('issuer-two'), group('empty')];
    await apply(...groups.map(group), ...backends, ...servers, ...shared);
    const operator = await startHastened();

    // The operator asks new pods and sends them their document. Slow pods start one by one, with pauses.
    for (const name of groups) {
      const { code, stderr } = await cluster.kubectl([
        ...['-n', namespace.name, 'wait', `virtualmcpservers.vmcp.dev/${name}`],
        ...['--for=condition=Ready', '--timeout=60s'],
      ]);
      expect([code, stderr]).toEqual([0, '']);
    }
    const writes = await untilQuiet(operator);
    const [versions, looked] = [await versionsOfAll(), await looks(operator)];
    await passMinutes(operator, 12);
    const again = await looks(operator);
    for (const [kind, count] of Object.entries(STEADY)) {
      expect([kind, (again[kind] ?? 0) - (looked[kind] ?? 0) >= count]).toEqual([kind, true]);
    }
    const kinds = await readMetric(operator, REQUESTS);
    expect({ writes: await countWrites(operator), kinds }).toMatchObject({ writes });
    expect(await versionsOfAll()).toEqual(versions);

    // A second operator, started now, changes nothing either.
    await operator.stop();
    const next = await startHastened();
    await passMinutes(next, 3);
    expect(await sumOf(next, WORK)).toBeGreaterThanOrEqual(50);
    expect(await countWrites(next)).toBe(0);
    expect(await versionsOfAll()).toEqual(versions);
  }, 300_000);

  it('tries one write against a foreign object, then reads it each minute until it is gone', async () => {
    await cluster.kubectl(['-n', namespace.name, 'create', 'service', 'clusterip', 'vmcp-guest', '--tcp=80:80']);
    await apply(group('guests'), gateway('guest', 'guests'));
    const operator = await startHastened();
    const isStalled = async () => JSON.stringify(await statusOf('virtualmcpservers', 'guest')).includes('ChildNotOurs');
    await until(isStalled, 60_000);
    const writes = await untilQuiet(operator);
    const services = (verb: string, code: string) =>
      sumOf(
        operator,
        REQUESTS,
        (labels) => labels.resource === 'services' && labels.verb === verb && labels.code === code,
      );
    const readings = await services('get', '200');
    await passMinutes(operator, 3);
    expect([await services('apply', '409'), await countWrites(operator)]).toEqual([1, writes]);
    expect(await services('get', '200')).toBeGreaterThanOrEqual(readings + 2);

    const path = `/api/v1/namespaces/${namespace.name}/services/vmcp-guest`;
    await cluster.ask('DELETE', path);
    const isMade = async () => JSON.stringify((await cluster.ask('GET', path)).body).includes('"name":"guest"');
    await until(isMade, 60_000);
    expect(await services('apply', '409')).toBe(1);
  }, 180_000);

  /**
   * Resolves after eleven seconds without a write, with the number of all writes. A lasting problem becomes an Event
   * after ten seconds.
   */
  async function untilQuiet(operator: Program): Promise<number> {
    let writes = -1;
    await until(async () => {
      const before = writes;
      await sleep(11_000);
      writes = await countWrites(operator);
      return writes === before && writes > 0;
    }, 120_000);
    return writes;
  }

  /** Resolves when so many minutes have passed for an operator. It reads the API server's key set once a minute. */
  async function passMinutes(operator: Program, minutes: number): Promise<void> {
    const readings = () => sumOf(operator, REQUESTS, ({ resource }) => resource === '/openid/v1/jwks');
    const before = await readings();
    // The first read may have been due already.
    await until(async () => (await readings()) > before + minutes, 150_000);
  }

  /** Returns the number of reconciliations by kind. */
  async function looks(operator: Program): Promise<Record<string, number>> {
    const found: Record<string, number> = {};
    for (const { labels, value } of await readMetric(operator, WORK)) {
      const { kind = '' } = labels;
      found[kind] = (found[kind] ?? 0) + value;
    }
    return found;
  }

  /** Returns the versions of the resources and their children in this namespace. */
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
