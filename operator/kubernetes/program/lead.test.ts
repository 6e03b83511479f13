import { expect, it, jest } from '@jest/globals';
import type { Platform } from '#operator/platform';
import { emptySnapshot } from '#operator/testdata/empty-snapshot';
import { type ResourceKey, parseKey } from '#operator/snapshot';
import { eventually } from '../testdata/eventually.ts';
import { lead } from './lead.ts';
import { createOperatorMetrics } from './metrics.ts';

const ignore = () => undefined;
const warnings: unknown[] = [];
const log = { debug: ignore, info: ignore, warn: (message: string) => void warnings.push(message), error: ignore };

/** Runs an operator with a Lease that the test controls. `done` lists its actions in order. */
function open(applied?: Promise<unknown>, failing: { problem?: Error | undefined } = {}) {
  const done: string[] = [];
  const [acquired, lost, stop] = [
    Promise.withResolvers<undefined>(),
    Promise.withResolvers<undefined>(),
    new AbortController(),
  ];
  let held = false;
  let changed: (key: ResourceKey) => void = ignore;
  const note = (text: string) => {
    done.push(text);
    return Promise.resolve();
  };
  const platform: Platform = {
    watch(told) {
      changed = told;
      return note('watch');
    },
    observe: () =>
      Promise.resolve(
        emptySnapshot({ platform: { mode: 'cluster', runtimeImage: 'vmcp-runtime:0.1.0', allowHostPaths: false } }),
      ),
    apply: async () => {
      await note('apply');
      if (failing.problem) throw failing.problem;
      await applied;
    },
    report: () => Promise.resolve(),
    close: () => note('close'),
  };
  const lease = {
    acquired: acquired.promise,
    lost: lost.promise,
    isHeld: () => held,
    handOver: () => note('hand over'),
  };
  const metrics = createOperatorMetrics('0');
  const led = lead(platform, { lease, metrics, log, workers: 1, resync: 60_000, stop: stop.signal });
  return {
    done,
    led,
    stop: () => stop.abort(),
    change: () => changed(parseKey('MCPGroup/default/tools')),
    give() {
      held = true;
      acquired.resolve(undefined);
    },
    take() {
      held = false;
    },
    tell: () => lost.resolve(undefined),
  };
}

it('lead waits for the Lease, and hands it over when it is stopped', async () => {
  const operator = open();
  operator.stop();
  expect(await operator.led).toBe(true);
  expect(operator.done).toEqual(['hand over']);
});

it('lead ends its current work before it hands the Lease over', async () => {
  const operator = open();
  operator.give();
  await eventually(() => operator.done.includes('watch'), 'it works');
  operator.change();
  await eventually(() => operator.done.includes('apply'), 'a change is worked on');
  operator.stop();
  expect(await operator.led).toBe(true);
  expect(operator.done).toEqual(['watch', 'apply', 'close', 'hand over']);
});

it('lead waits five seconds at most for its current work', async () => {
  const operator = open(new Promise(ignore));
  operator.give();
  await eventually(() => operator.done.includes('watch'), 'it works');
  operator.change();
  await eventually(() => operator.done.includes('apply'), 'a change is worked on');
  const wait = setTimeout;
  const waits: (number | undefined)[] = [];
  const hastened = jest
    .spyOn(globalThis, 'setTimeout')
    .mockImplementation((then: () => void, milliseconds?: number) => {
      waits.push(milliseconds);
      return wait(then, (milliseconds ?? 0) / 100);
    });
  try {
    operator.stop();
    expect(await operator.led).toBe(true);
    expect([waits, operator.done.at(-1)]).toEqual([[5000], 'hand over']);
  } finally {
    hastened.mockRestore();
  }
});

it('lead starts no work without the Lease, even before the loss is reported, and cleans nothing up', async () => {
  const operator = open();
  operator.give();
  await eventually(() => operator.done.includes('watch'), 'it works');
  operator.take();
  operator.change();
  await new Promise((resolve) => setTimeout(resolve, 50));
  operator.tell();
  expect(await operator.led).toBe(false);
  expect(operator.done).toEqual(['watch']);
});

it('lead logs an unchanged problem once', async () => {
  const failing = { problem: new Error('the first problem') as Error | undefined };
  const operator = open(Promise.resolve(), failing);
  operator.give();
  await eventually(() => operator.done.includes('watch'), 'it works');
  warnings.splice(0);
  const tries = async () => {
    const before = operator.done.length;
    operator.change();
    await eventually(() => operator.done.length > before, 'it is tried');
  };
  await tries();
  await tries();
  await tries();
  expect(warnings).toHaveLength(1);
  failing.problem = new Error('another one');
  await tries();
  await tries();
  expect(warnings).toHaveLength(2);
  operator.stop();
  await operator.led;
});
