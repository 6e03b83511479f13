import { describe, expect, it } from '@jest/globals';
import { emptySnapshot } from '#operator/testdata/empty-snapshot';
import { Retriable, Stalled, Waiting } from '#operator/errors';
import type { Outcome } from '#operator/plan/outcome';
import type { Platform } from '#operator/platform';
import type { Clock } from '#operator/queue';
import { reconcile } from '#operator/reconcile';
import { keyText, type Manifest, parseKey, type ResourceKey, type Snapshot } from '#operator/snapshot';

const server: Manifest = {
  apiVersion: 'vmcp.dev/v1alpha1',
  kind: 'VirtualMCPServer',
  metadata: { name: 'demo', namespace: 'default' },
  spec: { config: { groupRef: 'tools' }, incomingAuth: { type: 'anonymous' } },
};
const group: Manifest = {
  apiVersion: 'vmcp.dev/v1alpha1',
  kind: 'MCPGroup',
  metadata: { name: 'tools', namespace: 'default' },
};

function snapshotOfBoth(): Snapshot {
  const ports = { demo: { port: 4483, privatePort: 4484 } };
  return emptySnapshot({
    platform: {
      mode: 'local',
      directory: '/x',
      ports,
      backendPorts: {},
      uids: { demo: '1' },
      loginDirectory: '/x/logins',
    },
    virtualMcpServers: { demo: server },
    mcpGroups: { tools: group },
  });
}

/** A temporary failure. */
class Busy extends Retriable {
  readonly retryAfter: number | undefined;
  readonly retryWithin: number | undefined;

  constructor({ retryAfter, retryWithin }: { retryAfter?: number; retryWithin?: number }) {
    super('too many requests');
    this.retryAfter = retryAfter;
    this.retryWithin = retryWithin;
  }
}

/** A platform in memory that records calls and fails on command. */
class MemoryPlatform implements Platform {
  snapshot = snapshotOfBoth();
  readonly applied: string[] = [];
  readonly reported: Outcome[] = [];
  failApply: (() => Error | undefined) | undefined;
  failReport: (() => Error | undefined) | undefined;
  failObserve: (() => Error | undefined) | undefined;
  change: (key: ResourceKey) => void = () => undefined;

  watch(changed: (key: ResourceKey) => void): Promise<void> {
    this.change = changed;
    changed(parseKey('MCPGroup/default/tools'));
    return Promise.resolve();
  }
  observe(): Promise<Snapshot> {
    const problem = this.failObserve?.();
    return problem ? Promise.reject(problem) : Promise.resolve(this.snapshot);
  }
  apply(outcome: Outcome): Promise<void> {
    const problem = this.failApply?.();
    if (problem) return Promise.reject(problem);
    this.applied.push(`${keyText(outcome.key)} ${outcome.action}`);
    return Promise.resolve();
  }
  report(outcome: Outcome): Promise<void> {
    const problem = this.failReport?.();
    if (problem) return Promise.reject(problem);
    this.reported.push(outcome);
    return Promise.resolve();
  }
  close(): Promise<void> {
    return Promise.resolve();
  }
}

/** A clock that advances to the next timer on command. */
function steppedClock(): Clock & { step(): number | undefined } {
  let now = Date.parse('2026-01-02T03:04:05Z');
  let timers: { due: number; then: () => void }[] = [];
  return {
    now: () => now,
    after(milliseconds, then) {
      const timer = { due: now + milliseconds, then };
      timers.push(timer);
      return () => {
        timers = timers.filter((other) => other !== timer);
      };
    },
    step() {
      timers.sort((a, b) => a.due - b.due);
      const timer = timers.shift();
      if (!timer) return undefined;
      const waited = timer.due - now;
      now = timer.due;
      timer.then();
      return waited;
    },
  };
}

async function started(platform: MemoryPlatform, options: Parameters<typeof reconcile>[3] = {}) {
  const clock = steppedClock();
  const problems: [string, number | undefined][] = [];
  const thrown: unknown[] = [];
  const note = (key: ResourceKey, problem: unknown, retryIn?: number) => {
    problems.push([keyText(key), retryIn]);
    thrown.push(problem);
  };
  const loop = await reconcile(platform, clock, note, options);
  await loop.idle();
  return { clock, problems, thrown, loop };
}

describe('reconcile', () => {
  it('plans, applies and reports the resources that a change affects', async () => {
    const platform = new MemoryPlatform();
    const { loop } = await started(platform);
    expect(platform.applied.sort()).toEqual(['MCPGroup/default/tools apply', 'VirtualMCPServer/default/demo apply']);
    expect(platform.reported.map(({ status }) => status?.phase).sort()).toEqual(['Pending', 'Ready']);
    await loop.stop();
  });

  it('tells the platform that a resource is deleted', async () => {
    const platform = new MemoryPlatform();
    const { loop } = await started(platform);
    platform.snapshot = { ...platform.snapshot, virtualMcpServers: {} };
    platform.change(parseKey('VirtualMCPServer/default/demo'));
    await loop.idle();
    expect(platform.applied).toContain('VirtualMCPServer/default/demo remove');
    await loop.stop();
  });

  it('backs off after an unknown failure, reports it in the status, and recovers', async () => {
    const platform = new MemoryPlatform();
    platform.snapshot = { ...platform.snapshot, mcpGroups: {} };
    let failures = 3;
    platform.failApply = () => (failures-- > 0 ? new Error('disk full, secret s3cr3t') : undefined);
    const { clock, problems, loop } = await started(platform);
    const delays: (number | undefined)[] = [];
    for (let step = 0; step < 3; step += 1) {
      delays.push(clock.step());
      await loop.idle();
    }
    expect(platform.applied.length).toBe(2);
    expect(problems.length).toBe(3);
    expect(delays.every((delay) => delay !== undefined && delay <= 400)).toBe(true);
    const failed = platform.reported.flatMap(({ status }) => status?.conditions ?? []);
    expect(failed).toContainEqual(expect.objectContaining({ type: 'Ready', status: 'False', reason: 'ApplyFailed' }));
    expect(JSON.stringify(platform.reported)).not.toContain('s3cr3t');
    await loop.stop();
  });

  it('does not report a restart that could not be applied as done', async () => {
    const platform = new MemoryPlatform();
    const metadata = { name: 'api', namespace: 'default', annotations: { 'vmcp.dev/restarted-at': '2026-01-01' } };
    const spec = { command: ['node', 'api.js'], transport: 'streamable-http', mcpPort: 8000 };
    const api: Manifest = { apiVersion: 'vmcp.dev/v1alpha1', kind: 'MCPServer', metadata, spec };
    platform.snapshot = { ...platform.snapshot, mcpServers: { api } };
    let port: Error | undefined = new Stalled('PortInUse', 'port 8000 is in use: write another one');
    platform.failApply = () => port;
    const { loop } = await started(platform);
    const reported = async () => {
      platform.change(parseKey('MCPServer/default/api'));
      await loop.idle();
      return platform.reported.filter(({ key }) => key.kind === 'MCPServer').at(-1)?.status;
    };
    expect(await reported()).not.toHaveProperty('restartedAt');
    port = undefined;
    expect(await reported()).toHaveProperty('restartedAt', '2026-01-01');
    await loop.stop();
  });

  it('does not retry a failure that only the user can fix', async () => {
    const platform = new MemoryPlatform();
    platform.failApply = () => new Stalled('PortInUse', 'port 4483 is in use: write another one');
    const { clock, problems, loop } = await started(platform);
    expect(problems).toEqual([
      ['MCPGroup/default/tools', undefined],
      ['VirtualMCPServer/default/demo', undefined],
    ]);
    expect(clock.step()).toBeUndefined();
    const conditions = platform.reported.flatMap(({ status }) => status?.conditions ?? []);
    expect(conditions).toContainEqual(expect.objectContaining({ type: 'Stalled', reason: 'PortInUse' }));
    await loop.stop();
  });

  it('retries periodically while an object is missing', async () => {
    const platform = new MemoryPlatform();
    let missing = true;
    platform.failApply = () => (missing ? new Waiting('NotThere', 'x is not there') : undefined);
    const { clock, loop } = await started(platform);
    missing = false;
    expect(clock.step()).toBe(60_000);
    await loop.idle();
    expect(platform.applied.length).toBeGreaterThan(0);
    await loop.stop();
  });

  it('retries as soon as a missing object affects the resource', async () => {
    const platform = new MemoryPlatform();
    platform.failApply = () => new Waiting('PortInUse', 'port 4483 is in use', { retryIn: 2000 });
    const { clock, problems, loop } = await started(platform);
    expect(problems.map(([, retryIn]) => retryIn)).toEqual([2000, 2000]);
    expect(clock.step()).toBe(2000);
    await loop.stop();
  });

  it('reports both problems if the status cannot be written either, and retries', async () => {
    const platform = new MemoryPlatform();
    const taken = new Stalled('PortInUse', 'port 4483 is in use');
    platform.failApply = () => taken;
    platform.failReport = () => new Error('disk full');
    const { problems, thrown, loop } = await started(platform);
    expect(problems.map(([, retryIn]) => retryIn)).toEqual([200, 200]);
    expect(thrown).toContainEqual(
      expect.objectContaining({ message: expect.stringMatching(/disk full.*port 4483 is in use/), cause: taken }),
    );
    await loop.stop();
  });

  it('reports a failed plan in the status, and retries', async () => {
    const platform = new MemoryPlatform();
    platform.snapshot.observed = {
      get demo(): never {
        throw new TypeError('s3cr3t');
      },
    };
    const { problems, loop } = await started(platform);
    expect(problems).toEqual([['VirtualMCPServer/default/demo', 200]]);
    const told = platform.reported.find(({ key }) => key.kind === 'VirtualMCPServer');
    expect(told).toMatchObject({
      action: 'keep',
      status: { phase: 'Pending', conditions: [{ reason: 'ApplyFailed' }] },
    });
    expect(JSON.stringify(platform.reported)).not.toContain('s3cr3t');
    await loop.stop();
  });

  it('loses no change while the platform cannot be observed', async () => {
    const platform = new MemoryPlatform();
    let down = true;
    platform.failObserve = () => (down ? new Error('connection refused') : undefined);
    const { clock, loop } = await started(platform);
    expect(platform.applied).toEqual([]);
    down = false;
    clock.step();
    await loop.idle();
    expect(platform.applied).toContain('VirtualMCPServer/default/demo apply');
    await loop.stop();
  });

  it('waits for the delay that the failure states', async () => {
    const platform = new MemoryPlatform();
    let left = 1;
    platform.failApply = () => (left-- > 0 ? new Busy({ retryAfter: 9000 }) : undefined);
    const { clock, problems, loop } = await started(platform);
    expect(problems.map(([, retryIn]) => retryIn)).toEqual([9000]);
    expect(clock.step()).toBe(9000);
    await loop.idle();
    expect(platform.applied).toHaveLength(2);
    await loop.stop();
  });

  it('starts with the shortest delay again after a success', async () => {
    const platform = new MemoryPlatform();
    let left = 6;
    platform.failApply = () => (left-- > 0 ? new Error('broken') : undefined);
    const { clock, problems, loop } = await started(platform);
    while (platform.applied.length < 2) {
      clock.step();
      await loop.idle();
    }
    problems.splice(0);
    left = 1;
    platform.change(parseKey('MCPGroup/default/tools'));
    await loop.idle();
    expect(problems.map(([, retryIn]) => retryIn)).toEqual([200]);
    await loop.stop();
  });

  it('respects the longest delay that a failure states during an outage', async () => {
    const platform = new MemoryPlatform();
    let left = 16;
    platform.failApply = () => (left-- > 0 ? new Busy({ retryWithin: 5000 }) : undefined);
    const { clock, problems, loop } = await started(platform);
    while (left > 0) {
      clock.step();
      await loop.idle();
    }
    const pauses = problems.map(([, retryIn]) => retryIn);
    expect([...new Set(pauses)]).toEqual([200, 400, 800, 1600, 3200, 5000]);
    await loop.stop();
  });

  it('checks each resource periodically with its own offset, until it is deleted', async () => {
    const platform = new MemoryPlatform();
    let turn = 0;
    const { clock, loop } = await started(platform, { resync: 100_000, random: () => (turn++ % 2 === 0 ? 0 : 0.5) });
    const before = platform.applied.length;
    expect(clock.step()).toBe(80_000);
    await loop.idle();
    expect(clock.step()).toBe(20_000);
    await loop.idle();
    expect(platform.applied).toHaveLength(before + 2);
    platform.snapshot = { ...platform.snapshot, virtualMcpServers: {}, mcpGroups: {} };
    for (let i = 0; i < 4; i += 1) {
      clock.step();
      await loop.idle();
    }
    expect(platform.applied.filter((text) => text.endsWith('remove'))).toHaveLength(2);
    await loop.stop();
  });

  it('starts no work while this process may not act', async () => {
    const platform = new MemoryPlatform();
    let mayAct = false;
    const { loop } = await started(platform, { mayAct: () => mayAct });
    expect(platform.applied).toEqual([]);
    mayAct = true;
    platform.change(parseKey('MCPGroup/default/tools'));
    await loop.idle();
    expect(platform.applied).toHaveLength(2);
    await loop.stop();
  });

  it('reports the result of each attempt', async () => {
    const platform = new MemoryPlatform();
    const told: string[] = [];
    const { loop } = await started(platform, { onWork: (key, result) => told.push(`${key.kind} ${result}`) });
    platform.failApply = () => new Error('broken');
    platform.change(parseKey('MCPGroup/default/tools'));
    await loop.idle();
    expect(told.sort()).toEqual([
      'MCPGroup error',
      'MCPGroup success',
      'VirtualMCPServer error',
      'VirtualMCPServer success',
    ]);
    await loop.stop();
  });

  it('works on the configured number of resources concurrently', async () => {
    const platform = new MemoryPlatform();
    for (const name of ['a', 'b', 'c', 'd']) {
      platform.snapshot.mcpGroups[name] = { ...group, metadata: { ...group.metadata, name } };
    }
    let [running, most] = [0, 0];
    const apply = platform.apply.bind(platform);
    platform.apply = async (outcome) => {
      most = Math.max(most, ++running);
      await new Promise((resolve) => setImmediate(resolve));
      running -= 1;
      await apply(outcome);
    };
    const { loop } = await started(platform, { workers: 3 });
    for (const name of ['a', 'b', 'c', 'd']) platform.change(parseKey(`MCPGroup/default/${name}`));
    await loop.idle();
    expect(most).toBe(3);
    await loop.stop();
  });
});
