import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import type { Program } from '../gateway/start-program.ts';
import { eventually } from '../local/run-vmcp.ts';
import { readMetric, sumOf, untilReady } from './operator-metrics.ts';
import { backend, group, installDefinitions, server, Stage } from './stage.ts';
import { startOperator } from './start-operator.ts';
import { describeWithCluster } from './use-cluster.ts';

// Counts the operator's requests for an edit with its own metric. Pods are never scheduled, so the operator sends them
// no document, and reports no takeover.

/**
 * Milliseconds without a request after which the operator counts as idle; it writes an object's status at most once a
 * second.
 */
const QUIET_MS = 1200;
/** A lasting problem becomes an Event after ten seconds. */
const TOLD_MS = 11_000;
const GROUPS = { few: 1, many: 5 };
const SERVERS = 3;
/** No node has this label. */
const NOWHERE = { podTemplateSpec: { spec: { nodeSelector: { never: 'here' } } } };

type Requests = Record<string, number>;

describeWithCluster('requests of the operator', (cluster) => {
  const stage = new Stage(cluster);
  let operator: Program;
  beforeAll(async () => {
    await installDefinitions(cluster);
    stage.namespace = await cluster.makeNamespace('requests');
  });
  afterAll(async () => {
    await operator.stop();
    await stage.namespace.delete();
  });

  const start = async () => {
    operator = await startOperator(cluster, [stage.namespace.name], ['--resync=1h']);
    await untilReady(operator);
  };

  const fill = async (from: number, to: number) => {
    for (let i = from; i < to; i += 1) {
      const servers = Array.from({ length: SERVERS }, (_, nr) => server(`s-${i}-${nr}`, `g-${i}`, NOWHERE));
      const remote = { remoteUrl: `http://127.0.0.1:9/${i}`, transport: 'streamable-http', groupRef: `g-${i}` };
      await stage.apply(group(`g-${i}`), backend(`b-${i}`, remote), ...servers);
    }
  };

  /**
   * Returns all requests for resources so far, by verb and resource; without watches, Leases and the cluster's keys,
   * which depend on a clock.
   */
  async function requests(): Promise<Requests> {
    const counted: Requests = {};
    for (const { labels, value } of await readMetric(operator, 'vmcp_operator_api_requests_total')) {
      const { verb = '', resource = '' } = labels;
      const name = `${verb} ${resource}`;
      const isOnTheClock = verb === 'watch' || resource === 'leases' || resource.startsWith('/');
      if (!isOnTheClock) counted[name] = (counted[name] ?? 0) + value;
    }
    return counted;
  }

  async function settled(milliseconds: number): Promise<Requests> {
    let [last, since] = ['', Date.now()];
    await eventually(
      async () => {
        const text = JSON.stringify([await requests(), await sumOf(operator, 'vmcp_operator_queue_depth')]);
        if (text !== last) [last, since] = [text, Date.now()];
        await sleep(50);
        return Date.now() - since;
      },
      (quiet) => quiet > milliseconds,
    );
    return requests();
  }

  async function during(work: () => Promise<void>): Promise<Requests> {
    const before = await settled(TOLD_MS);
    await work();
    const after = await settled(QUIET_MS);
    return Object.fromEntries(
      Object.entries(after).flatMap(([name, value]) => {
        const more = value - (before[name] ?? 0);
        return more === 0 ? [] : [[name, more]];
      }),
    );
  }

  const edit = (name: string, header: string) =>
    stage.patch('VirtualMCPServer', name, { spec: { passthroughHeaders: [header] } });

  it('count three for one edit (document, allowed digest, status), with few and with many resources', async () => {
    await start();
    const told: Requests[] = [];
    for (const [from, to] of [
      [0, GROUPS.few],
      [GROUPS.few, GROUPS.many],
    ] as const) {
      await fill(from, to);
      told.push(await during(() => edit('s-0-0', `x-${to}`)));
    }
    const each = { 'apply secrets': 1, 'apply configmaps': 1, 'apply virtualmcpservers': 1 };
    expect(told).toEqual([each, each]);
  }, 120_000);

  it('count at most one status write a second during consecutive edits', async () => {
    let startedAt = 0;
    const found = await during(async () => {
      startedAt = Date.now();
      for (let i = 0; i < 10; i += 1) await edit('s-1-1', `x-${i}`);
    });
    const seconds = (Date.now() - startedAt) / 1000;
    expect(Object.keys(found).sort()).toEqual(['apply configmaps', 'apply secrets', 'apply virtualmcpservers']);
    for (const kind of ['configmaps', 'secrets']) expect(found[`apply ${kind}`]).toBeLessThanOrEqual(10);
    expect(found['apply virtualmcpservers']).toBeLessThanOrEqual(1 + seconds);
  }, 60_000);
});
