import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Dispatcher } from 'undici';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { eventually, makeWorkplace } from '../local/run-vmcp.ts';
import { kubeconfigOf } from './accounts.ts';
import { IMAGES } from './images.ts';
import { backend, Stage } from './stage.ts';
import { describeWithCluster } from './use-cluster.ts';
import { useManagement } from './use-management.ts';

/** Prints continuously, and ends on SIGTERM. */
const TICKER = `
  let nr = 0;
  setInterval(() => console.log('tick ' + nr++), 100);
  process.once('SIGTERM', () => process.exit(0));
  require('node:http').createServer((_, response) => response.end()).listen(8080);
`;
const PODS = 2;
/** Limit for each caller. */
const MOST_LOGS = 20;
const FOLLOWED = '/workloads/ticker/logs?follow=true&lines=1';

interface Tick {
  pod: string;
  nr: number;
}

const ticksIn = (said: string): Tick[] =>
  [...said.matchAll(/^(\S+) \| tick (\d+)$/gm)].map(([, pod = '', nr]) => ({ pod, nr: Number(nr) }));

describeWithCluster('following a log in a cluster', (cluster) => {
  const stage = useManagement(cluster, 'management-logs');
  const place = makeWorkplace();
  beforeAll(async () => {
    const ours = new Stage(cluster, { name: stage.namespace, delete: () => Promise.resolve() });
    const program = { image: IMAGES.backends, command: ['node', '-e', TICKER], transport: 'streamable-http' };
    await ours.apply(backend('ticker', { ...program, backendReplicas: PODS }));
    const both = new Set<string>();
    await eventually(
      async () => {
        const { body } = await stage.ask('GET', '/workloads/ticker/logs?lines=1');
        for (const { pod } of ticksIn(typeof body === 'string' ? body : '')) both.add(pod);
        return both.size;
      },
      (pods) => pods === PODS,
      90_000,
    );
  }, 150_000);
  afterAll(() => place.close());

  /** Follows a log. At the caller's limit, it retries until the API has noticed the end of another one. */
  async function follow(): Promise<Followed> {
    const begin = async () => {
      const stop = new AbortController();
      const { statusCode, body } = await stage.read(FOLLOWED, stop.signal);
      if (statusCode === 200) return new Followed(body, stop);
      return body.text();
    };
    const log = await eventually(begin, (begun) => typeof begun !== 'string', 30_000);
    if (typeof log === 'string') throw new Error(log);
    return log;
  }
  async function followMany(): Promise<Followed[]> {
    const many: Followed[] = [];
    while (many.length < MOST_LOGS) many.push(await follow());
    return many;
  }
  const hearAll = (many: Followed[]) => Promise.all(many.map((one) => one.received((ticks) => ticks.length > 0)));

  it('streams the lines of each pod by TLS as they are written, until the reader stops', async () => {
    const log = await follow();
    const ticks = await log.received(
      (all) => podsIn(all).every(({ length }) => length >= 5) && podsIn(all).length === PODS,
    );
    // The first line of each pod is older; the others were written during the read.
    for (const [first, ...later] of podsIn(ticks))
      expect(later.map(({ nr }) => nr)).toEqual(later.map((_, index) => (first?.nr ?? 0) + index + 1));
    log.stop();
    await log.ended;
  }, 60_000);

  it('limits the logs of a caller, blocks no other request, and leaves no connection to the API server', async () => {
    // The rounds open more logs than there are connections.
    for (let round = 0; round < 4; round += 1) {
      const many = await followMany();
      await hearAll(many);
      const more = await stage.ask('GET', FOLLOWED);
      expect([more.status, more.body]).toEqual([429, expect.objectContaining({ code: 'too_many_requests' })]);
      expect(Number(more.headers['retry-after'])).toBeGreaterThan(0);
      expect((await stage.ask('GET', '/workloads/ticker/status')).status).toBe(200);
      for (const one of many) one.stop();
      await Promise.all(many.map(({ ended }) => ended));
    }
  }, 120_000);

  it('prints lines with vmcp logs -f as they are written, until an interrupt, and ends for every reader with the pods', async () => {
    const kubeconfig = join(stage.folder, 'editor');
    await kubeconfigOf(cluster, { namespace: stage.namespace, name: 'editor' }, kubeconfig);
    // Other suites install other API groups at the same time.
    const target = ['--context', 'e2e', '--kubeconfig', kubeconfig, '--api-group', 'vmcp.dev'];
    const command = ['logs', 'ticker', '-f', '--lines', '1', ...target];
    const [interrupted, whole, log] = [place.start(command), place.start(command), await follow()];
    for (const { output } of [interrupted, whole])
      await eventually(
        () => podsIn(ticksIn(output())),
        (pods) => pods.length === PODS && pods.every(({ length }) => length >= 5),
      );
    interrupted.signal('SIGINT');
    expect(await interrupted.ended).toBe(0);
    expect((await stage.ask('POST', '/workloads/ticker/stop')).status).toBe(202);
    expect(await Promise.race([whole.ended, sleep(60_000, 'it goes on', { ref: false })])).toBe(0);
    expect(await Promise.race([log.ended, sleep(60_000, 'it goes on', { ref: false })])).toBe('whole');
  }, 150_000);
});

/** Groups ticks by pod. */
const podsIn = (ticks: readonly Tick[]): Tick[][] => [...Map.groupBy(ticks, ({ pod }) => pod).values()];

class Followed {
  /** Its end: `whole`, or cut off. */
  readonly ended: Promise<string>;
  readonly #stop: AbortController;
  #said = '';

  constructor(body: Dispatcher.ResponseData['body'], stop: AbortController) {
    this.#stop = stop;
    body.setEncoding('utf8').on('data', (part: string) => (this.#said += part));
    this.ended = new Promise((resolve) => {
      body.once('end', () => resolve('whole')).once('error', () => resolve('cut'));
    });
  }

  received(fits: (ticks: Tick[]) => boolean): Promise<Tick[]> {
    return eventually(() => ticksIn(this.#said), fits, 30_000);
  }

  stop(): void {
    this.#stop.abort();
  }
}
