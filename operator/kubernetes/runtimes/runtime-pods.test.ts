import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { createHmac } from 'node:crypto';
import { RuntimeStatus } from '#crds/run-config/runtime-status';
import { NO_ANSWER } from '#operator/last-probe';
import type { PodStatus } from './fetch-pod-status.ts';
import { type WatchedPod, viewOfPod } from '../observe/view-of-pod.ts';
import { type Runtime, RuntimePods } from './runtime-pods.ts';
import { ManualClock } from '#operator/testdata/manual-clock';

const FILES = { '/etc/vmcp/credentials/a': Buffer.from('value').toString('base64') };
const hash = createHmac('sha256', 'new').update('value').digest('hex');

const runtime = (digest: string): Runtime => ({
  namespace: 'ns',
  child: 'vmcp-demo',
  configMap: 'vmcp-demo-v0.1.0',
  digest,
  files: FILES,
  tokens: ['new', 'old'],
  interval: 30_000,
});

const OWNER = { kind: 'ReplicaSet', name: 'vmcp-demo-5d9' };

interface Fields {
  ip?: string;
  ending?: boolean;
  owner?: typeof OWNER | undefined;
}

function pod(uid: string, fields: Fields = {}): WatchedPod {
  const { ip, ending, owner } = { ip: '10.0.0.1', ending: false, owner: OWNER, ...fields };
  return viewOfPod(
    {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: {
        name: `pod-${uid}`,
        namespace: 'ns',
        uid,
        labels: { 'pod-template-hash': '5d9' },
        ownerReferences: owner ? [{ apiVersion: 'apps/v1', uid: 'rs', controller: true, ...owner }] : [],
        ...(ending && { deletionTimestamp: '2026-01-01T00:00:00Z' }),
      },
      spec: { volumes: [{ configMap: { name: 'vmcp-demo-v0.1.0' } }, { secret: {} }] },
      status: { phase: 'Running', podIP: ip },
    },
    0,
  );
}

const says = (digest: string, fields: object = {}, secretFiles = { '/etc/vmcp/credentials/a': hash }): PodStatus => ({
  status: RuntimeStatus.parse({ config_digest: digest, tools: 3, ...fields }),
  secretFiles,
});

let clock: ManualClock;
let pods: RuntimePods;
let answers: Record<string, PodStatus | typeof NO_ANSWER | undefined>;
let asked: string[];
let pushed: string[];
let changes: number;
let random: number;
beforeEach(() => {
  clock = new ManualClock();
  random = 0.5;
  [answers, asked, pushed, changes] = [{}, [], [], 0];
  pods = new RuntimePods({
    clock,
    random: () => random,
    fetchStatus: (ip, tokens) => {
      asked.push(`${ip} ${tokens.join()}`);
      return Promise.resolve(answers[ip]);
    },
    push: ({ metadata }, digest) => {
      pushed.push(`${metadata.uid} ${digest}`);
      return Promise.resolve();
    },
    changed: () => changes++,
  });
});
afterEach(() => pods.close());

async function pass(milliseconds: number): Promise<void> {
  clock.pass(milliseconds);
  await new Promise((resolve) => setImmediate(resolve));
}
/** Advances the clock in steps, as each request schedules the next one. */
async function passSlowly(milliseconds: number): Promise<void> {
  for (let passed = 0; passed < milliseconds; passed += 100) await pass(100);
}

describe('RuntimePods', () => {
  it('waits until each pod was asked once, so that a new leader does not report unanswered requests', async () => {
    const done: string[] = [];
    const wait = (name: string) => void pods.asked('ns', 3000).then(() => done.push(name));
    pods.told(undefined, pod('a'));
    pods.told(undefined, pod('b', { ip: '10.0.0.2' }));
    pods.expect(runtime('one'));
    wait('both');
    await pass(0);
    expect(done).toEqual(['both']);
    expect(asked).toHaveLength(2);

    pods.told(undefined, pod('c', { ip: '10.0.0.3' }));
    wait('one that goes');
    pods.told(pod('c', { ip: '10.0.0.3' }), undefined);
    await pass(0);
    expect(done).toContain('one that goes');
  });

  it('waits for the first answers only as long as it is told', async () => {
    let done = false;
    const silent = new RuntimePods({
      clock,
      random: () => 0.5,
      fetchStatus: () => new Promise(() => undefined),
      push: () => Promise.resolve(),
      changed: () => undefined,
    });
    silent.told(undefined, pod('a'));
    silent.expect(runtime('one'));
    void silent.asked('ns', 3000).then(() => (done = true));
    await pass(2999);
    expect(done).toBe(false);
    await pass(1);
    expect(done).toBe(true);
    silent.close();
  });

  it('limits the statuses of a namespace, and accepts more after others have ended', async () => {
    const many = Array.from({ length: 20 }, (_, at) => pod(`p${at}`, { ip: `10.0.0.${at}` }));
    const message = 'x'.repeat(4000);
    const backends = (pod: number) =>
      Array.from({ length: 240 }, (_, at) => ({ name: `${pod}-${at}`, phase: 'ready', tools: 1, message }));
    pods.expect(runtime('one'));
    for (const [at, one] of many.entries()) {
      answers[`10.0.0.${at}`] = says('one', { backends: backends(at) });
      pods.told(undefined, one);
    }
    await passSlowly(1000);
    const observed = () => pods.observed('ns', 'vmcp-demo');
    expect([observed()?.backends.length, observed()?.current]).toEqual([16 * 240, false]);
    for (const one of many.slice(0, 4)) pods.told(one, undefined);
    await passSlowly(10_000);
    expect([observed()?.backends.length, observed()?.current]).toEqual([16 * 240, true]);
  });

  it('tries the tokens until a pod serves the document, and pushes it with growing pauses', async () => {
    pods.expect(runtime('two'));
    pods.told(undefined, pod('a'));
    answers['10.0.0.1'] = says('one');
    await passSlowly(10_000);
    expect(asked[0]).toBe('10.0.0.1 new,old');
    expect(pushed.length).toBeGreaterThan(2);
    expect(pushed.length).toBeLessThan(6);
    expect(new Set(pushed)).toEqual(new Set(['a two']));
    expect(pods.observed('ns', 'vmcp-demo')?.current).toBe(false);
    answers['10.0.0.1'] = says('two');
    await passSlowly(5000);
    expect(pods.observed('ns', 'vmcp-demo')?.current).toBe(true);
  });

  it('pushes ever less often to pods that do not take the document over', async () => {
    pods.expect(runtime('two'));
    pods.told(undefined, pod('a'));
    answers['10.0.0.1'] = says('one');
    await passSlowly(300_000);
    expect(pushed.length).toBeGreaterThan(5);
    expect(pushed.length).toBeLessThan(12);
  });

  it('sends no request because of a repeated expectation', async () => {
    pods.expect(runtime('one'));
    pods.told(undefined, pod('a'));
    answers['10.0.0.1'] = says('one');
    await passSlowly(1000);
    const { length } = asked;
    pods.expect(runtime('one'));
    await pass(0);
    expect(asked).toHaveLength(length);
    pods.expect(runtime('two'));
    await pass(0);
    expect(asked).toHaveLength(length + 1);
    pods.expect({ ...runtime('two'), tokens: ['newer', 'new'] });
    await pass(0);
    expect(asked.slice(length + 1)).toEqual(['10.0.0.1 newer,new']);
  });

  it('does not push to silent pods, and soon asks a pod again that stopped answering', async () => {
    pods.expect(runtime('one'));
    pods.told(undefined, pod('a'));
    await passSlowly(60_000);
    expect(pushed).toEqual([]);
    answers['10.0.0.1'] = says('one', { ready: true });
    await passSlowly(60_000);
    answers['10.0.0.1'] = NO_ANSWER;
    const { length } = asked;
    while (asked.length === length) await pass(100);
    await passSlowly(3000);
    expect(asked.length).toBeGreaterThan(length + 3);
  });

  it('asks pods with the document once per interval, and pushes no more', async () => {
    answers['10.0.0.1'] = says('one');
    pods.expect(runtime('one'));
    pods.told(undefined, pod('a'));
    await pass(0);
    asked.length = 0;
    await passSlowly(61_000);
    expect(asked).toHaveLength(2);
    expect(pushed).toEqual([]);
  });

  it('asks again soon while tools are not counted, as after each change, for a limited time', async () => {
    answers['10.0.0.1'] = says('one', { tools: null });
    pods.expect(runtime('one'));
    pods.told(undefined, pod('a'));
    await passSlowly(2000);
    expect(asked.length).toBeGreaterThan(2);
    answers['10.0.0.1'] = says('one');
    await passSlowly(5000);
    expect(pods.observed('ns', 'vmcp-demo')?.tools).toBe(3);
    answers['10.0.0.1'] = says('one', { tools: null });
    await passSlowly(60_000);
    asked.length = 0;
    await passSlowly(60_000);
    expect(asked.length).toBeLessThan(4);
  });

  it.each([
    [0, 24_000],
    [1, 36_000],
  ])(
    'varies the interval by a fifth, so that pods are not asked at the same moment (random number %d)',
    async (chance, due) => {
      random = chance;
      answers['10.0.0.1'] = says('one', { ready: true });
      pods.expect(runtime('one'));
      pods.told(undefined, pod('a'));
      await pass(0);
      for (let round = 1; round <= 2; round++) {
        await pass(due - 1);
        expect(asked).toHaveLength(round);
        await pass(2);
        expect(asked).toHaveLength(round + 1);
      }
    },
  );

  it('asks at once when the document changes', async () => {
    answers['10.0.0.1'] = says('one');
    pods.expect(runtime('one'));
    pods.told(undefined, pod('a'));
    await pass(0);
    pods.expect(runtime('two'));
    await pass(0);
    expect(pushed).toEqual(['a two']);
  });

  it('reports no takeover while a file has another content', async () => {
    answers['10.0.0.1'] = says('one', {}, { '/etc/vmcp/credentials/a': 'another' });
    pods.expect(runtime('one'));
    pods.told(undefined, pod('a'));
    await pass(0);
    expect(pods.observed('ns', 'vmcp-demo')?.current).toBe(false);
    expect(pushed).toEqual(['a one']);
  });

  it('requires the takeover of all pods except those that end', async () => {
    answers['10.0.0.1'] = says('one');
    answers['10.0.0.2'] = says('older');
    pods.expect(runtime('one'));
    pods.told(undefined, pod('a'));
    pods.told(undefined, pod('b', { ip: '10.0.0.2' }));
    await pass(0);
    expect(pods.observed('ns', 'vmcp-demo')?.current).toBe(false);
    pods.told(pod('b', { ip: '10.0.0.2' }), pod('b', { ip: '10.0.0.2', ending: true }));
    expect(pods.observed('ns', 'vmcp-demo')?.current).toBe(true);
    pods.told(pod('a'), undefined);
    expect(pods.observed('ns', 'vmcp-demo')).toBeUndefined();
  });

  it('reports a change only if the status differs', async () => {
    answers['10.0.0.1'] = says('one');
    pods.expect(runtime('one'));
    pods.told(undefined, pod('a'));
    await pass(0);
    const before = changes;
    await passSlowly(61_000);
    expect(changes).toBe(before);
    answers['10.0.0.1'] = says('one', { tools: 4 });
    await passSlowly(31_000);
    expect(changes).toBe(before + 1);
  });

  it('keeps the last status of a briefly silent pod, and soon reports that none answers', async () => {
    answers['10.0.0.1'] = says('one', { ready: true });
    pods.expect(runtime('one'));
    pods.told(undefined, pod('a'));
    await passSlowly(31_000);
    const [before, looks] = [changes, asked.length];
    answers['10.0.0.1'] = NO_ANSWER;
    while (asked.length < looks + 2) await pass(100);
    expect([pods.observed('ns', 'vmcp-demo')?.ready, changes]).toEqual([true, before]);
    // It is asked again within seconds, not after another interval.
    await passSlowly(2000);
    expect([pods.observed('ns', 'vmcp-demo'), changes]).toEqual([undefined, before + 1]);
  });

  it('does not send the token to a pod that only its labels attribute to vmcp', async () => {
    pods.expect(runtime('one'));
    pods.told(undefined, pod('f', { owner: undefined }));
    pods.told(undefined, pod('g', { owner: { kind: 'ReplicaSet', name: 'vmcp-other-5d9' } }));
    pods.told(undefined, pod('h', { owner: { kind: 'StatefulSet', name: 'vmcp-demo' } }));
    await passSlowly(1000);
    expect(asked).toEqual([]);
  });

  it('withholds a refusal while files may still arrive, and then reports it', async () => {
    answers['10.0.0.1'] = says('one', { config_refused: { message: 'there is no such file' } });
    pods.expect(runtime('two'));
    pods.told(undefined, pod('a'));
    await passSlowly(1000);
    expect(pods.observed('ns', 'vmcp-demo')?.config_refused).toBeNull();
    await passSlowly(10_000);
    expect(pods.observed('ns', 'vmcp-demo')?.config_refused?.message).toBe('there is no such file');
  });

  it('does not push to pods of an older schema, which mount another document', async () => {
    answers['10.0.0.1'] = says('older');
    pods.expect({ ...runtime('new'), configMap: 'vmcp-demo-v0.2.0' });
    pods.told(undefined, pod('a'));
    await passSlowly(5000);
    expect(pushed).toEqual([]);
    expect(pods.observed('ns', 'vmcp-demo')?.current).toBe(false);
  });

  it('merges the statuses of pods, until the pod that cannot reach a backend ends', async () => {
    const sees = (phase: string, ready: boolean) =>
      says('one', { ready, backends: [{ name: 'a', phase, tools: phase === 'ready' ? 3 : null, message: phase }] });
    answers = { '10.0.0.1': sees('ready', true), '10.0.0.2': sees('unavailable', false) };
    pods.expect(runtime('one'));
    pods.told(undefined, pod('a'));
    pods.told(undefined, pod('b', { ip: '10.0.0.2' }));
    await pass(0);
    const told = () => {
      const { ready, backends = [] } = pods.observed('ns', 'vmcp-demo') ?? {};
      return [ready, ...backends.map(({ name, phase, tools }) => [name, phase, tools])];
    };
    expect(told()).toEqual([true, ['a', 'degraded', 3]]);
    const before = changes;
    pods.told(pod('b', { ip: '10.0.0.2' }), pod('b', { ip: '10.0.0.2', ending: true }));
    expect(told()).toEqual([true, ['a', 'ready', 3]]);
    expect(changes).toBeGreaterThan(before);
    // No pod reaches the backend.
    answers = { '10.0.0.1': sees('unavailable', true) };
    await passSlowly(40_000);
    expect(told()).toEqual([true, ['a', 'unavailable', null]]);
  });

  it('asks a pod at its new address, as after a restart of the node', async () => {
    pods.expect(runtime('one'));
    answers['10.0.0.1'] = says('one');
    pods.told(undefined, pod('a'));
    await pass(0);
    answers = { '10.0.0.9': says('one') };
    pods.told(pod('a'), pod('a', { ip: '10.0.0.9' }));
    expect(pods.observed('ns', 'vmcp-demo')).toBeUndefined();
    await pass(0);
    expect(pods.observed('ns', 'vmcp-demo')?.current).toBe(true);
  });

  it('asks fifty pods at most at the same time', async () => {
    let open = 0;
    let most = 0;
    const release: (() => void)[] = [];
    const many = new RuntimePods({
      clock,
      random: () => 0.5,
      fetchStatus: async () => {
        most = Math.max(most, ++open);
        await new Promise<void>((resolve) => release.push(resolve));
        open--;
        return says('one');
      },
      push: () => Promise.resolve(),
      changed: () => undefined,
    });
    many.expect(runtime('one'));
    for (let n = 0; n < 120; n++) many.told(undefined, pod(`p${n}`, { ip: `10.0.1.${n}` }));
    await pass(0);
    expect(most).toBe(50);
    while (release.length > 0) {
      for (const one of release.splice(0)) one();
      await pass(0);
    }
    expect(most).toBe(50);
    many.close();
  });

  it('answers for other namespaces while pods of one do not answer', async () => {
    const release: (() => void)[] = [];
    const asked: string[] = [];
    const crowd = new RuntimePods({
      clock,
      random: () => 0.5,
      fetchStatus: async (ip) => {
        asked.push(ip);
        if (ip.startsWith('10.0.1.')) await new Promise<void>((resolve) => release.push(resolve));
        return says('one');
      },
      push: () => Promise.resolve(),
      changed: () => undefined,
    });
    crowd.expect(runtime('one'));
    crowd.expect({ ...runtime('one'), namespace: 'other' });
    for (let n = 0; n < 200; n++) crowd.told(undefined, pod(`p${n}`, { ip: `10.0.1.${n}` }));
    await pass(0);
    const elsewhere = pod('elsewhere', { ip: '10.0.2.1' });
    elsewhere.metadata.namespace = 'other';
    crowd.told(undefined, elsewhere);
    await pass(0);
    expect(asked).not.toContain('10.0.2.1');
    for (const one of release.splice(0, 2)) one();
    await pass(0);
    expect(asked).toContain('10.0.2.1');
    for (const one of release.splice(0)) one();
    crowd.close();
  });
});
