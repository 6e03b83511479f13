import { setTimeout as pause } from 'node:timers/promises';
import { beforeAll, expect, it } from '@jest/globals';
import { SessionClient } from '../../gateway/session-client.ts';
import { eventually } from '../../local/run-vmcp.ts';
import { backend, fake, group, server } from '../stage.ts';
import { describeWithOwnCluster } from '../use-own-cluster.ts';
import { useStage } from '../use-stage.ts';

const MINUTES = 60_000;
/** docs/operate/kubernetes.md has the figures of a quiet machine: at most 1.1 s. At a load of 5 to 9 it took 1.2 to 2.4 s. */
const ANSWERS_WITHIN_MS = 5_000;
/** Limit for an answer by the Service, on a busy machine. */
const SOON_MS = 10_000;
const EVERY_MS = 10;
/**
 * For a Service without pods the kernel refuses few connections and drops the others. TCP retries after 1 s and 3 s.
 */
const GIVE_UP_MS = 250;

interface Pod {
  metadata: { name: string; uid: string };
  status: { podIP?: string; containerStatuses?: { ready: boolean; restartCount: number }[] };
}

describeWithOwnCluster('the only pod of a server, after its process is killed', (cluster, own) => {
  const stage = useStage(cluster, 'killed');

  const thePod = async (): Promise<Pod> => {
    const [pod, ...more] = (await stage.list('Pod', 'app.kubernetes.io/instance=demo')) as unknown as Pod[];
    if (!pod || more.length > 0) throw new Error(`there are ${pod ? more.length + 1 : 0} pods`);
    return pod;
  };
  const containerOf = ({ status }: Pod) => status.containerStatuses?.[0];

  /**
   * Calls a tool in new sessions until `stop` aborts. Returns the time of the first answered call after the last failed
   * one.
   */
  async function callUntil(url: string, headers: Record<string, string>, stop: AbortSignal): Promise<number> {
    let [hasFailed, answeredAt] = [true, Infinity];
    while (!stop.aborted) {
      const called = SessionClient.open(url, headers).then((client) => client.call('plain_tool_0', {}));
      const answer = await Promise.race([called.catch(() => undefined), pause(GIVE_UP_MS, undefined)]);
      const isAnswered = answer?.status === 200 && answer.answer.result !== undefined;
      if (!isAnswered) answeredAt = Infinity;
      else if (hasFailed) answeredAt = performance.now();
      hasFailed = !isAnswered;
      await pause(EVERY_MS);
    }
    return answeredAt;
  }

  beforeAll(async () => {
    await stage.apply(
      group('tools'),
      backend('plain', fake('tools', 'backend', ['--name', 'plain', '--tools', '1'])),
      server('demo', 'tools'),
    );
    await stage.ready('demo', 2 * MINUTES);
  }, 4 * MINUTES);

  it(
    'serves calls again within 5 s at its own address and within 10 s by its Service, in the same pod',
    async () => {
      const before = await thePod();
      const { url, headers } = await stage.endpoint('demo');
      const podIP = before.status.podIP ?? '';
      const address = podIP.includes(':') ? `[${podIP}]` : podIP;
      const stop = new AbortController();
      const calls = [`http://${address}:4483/mcp`, url].map((at) => callUntil(at, headers, stop.signal));
      await pause(200);
      const killedAt = performance.now();
      own.killPod(before.metadata.name);
      const isBack = (pod: Pod) => containerOf(pod)?.ready === true && containerOf(pod)?.restartCount === 1;
      await eventually(thePod, isBack, SOON_MS).finally(() => pause(2000));
      stop.abort();
      const [atPod = Infinity, atService = Infinity] = (await Promise.all(calls)).map((at) => at - killedAt);
      process.stderr.write(
        `a killed runtime: the pod answers after ${atPod.toFixed(0)} ms, the Service after ${atService.toFixed(0)} ms\n`,
      );
      expect([atPod > 0, atPod < ANSWERS_WITHIN_MS, atService > 0, atService < SOON_MS]).toEqual([
        true,
        true,
        true,
        true,
      ]);
      expect((await thePod()).metadata).toMatchObject({ name: before.metadata.name, uid: before.metadata.uid });
    },
    2 * MINUTES,
  );
});
