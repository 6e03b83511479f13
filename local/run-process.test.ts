import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { openLogFile } from '#local/log-file';
import { startOf } from '#local/process-identity';
import { type ProcessState, SupervisedProcess } from '#local/run-process';
import type { Clock } from '#operator/queue';
import { systemClock } from '#operator/queue';

let folder: string;
let running: SupervisedProcess[];
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'vmcp-process-'));
  running = [];
});
afterEach(async () => {
  await Promise.all(running.map((one) => one.stop()));
  rmSync(folder, { recursive: true, force: true });
});

/** Starts a program given as text; `seen` resolves at the first state that fits. */
function start(program: string, clock: Clock = systemClock, tellsFailure?: true) {
  const states: ProcessState[] = [];
  const waiting: { fits: (state: ProcessState) => boolean; resolve: (state: ProcessState) => void }[] = [];
  const one = new SupervisedProcess(
    {
      name: 'one',
      command: process.execPath,
      args: ['-e', program],
      env: {},
      directory: folder,
      ...(tellsFailure && { tellsFailure }),
    },
    {
      clock,
      openLog: () => openLogFile(join(folder, 'one.log')),
      changed: (state) => {
        states.push(state);
        for (const { fits, resolve } of waiting) if (fits(state)) resolve(state);
      },
    },
  );
  running.push(one);
  const seen = (fits: (state: ProcessState) => boolean) =>
    new Promise<ProcessState>((resolve) => {
      const past = states.find(fits);
      if (past) resolve(past);
      else waiting.push({ fits, resolve });
    });
  return { one, seen, states };
}

async function eventually<T>(ask: () => T | undefined): Promise<T> {
  for (let attempt = 0; attempt < 200; attempt += 1) {
    const answer = ask();
    if (answer !== undefined) return answer;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  throw new Error('never came');
}

function logged(): string | undefined {
  try {
    return readFileSync(join(folder, 'one.log'), 'utf8') || undefined;
  } catch {
    return undefined;
  }
}

const FOREVER = 'setInterval(() => {}, 1000);';

/** Returns a clock whose waits are 100 times as short, and the delays that were requested. */
function fastClock() {
  const delays: number[] = [];
  const clock: Clock = {
    now: () => Date.now(),
    after: (milliseconds, then) => {
      delays.push(milliseconds);
      return systemClock.after(milliseconds / 100, then);
    },
  };
  return { clock, delays };
}

describe('SupervisedProcess with tellsFailure', () => {
  it('reports the last line of a process that cannot start', async () => {
    const { seen } = start(
      "console.error('{}'); console.error('port 1 cannot be had'); process.exit(1)",
      systemClock,
      true,
    );
    const state = await seen(({ failure }) => failure !== undefined);
    expect(state).toMatchObject({ state: 'waiting', lastEnd: 'exited with code 1', failure: 'port 1 cannot be had' });
  });

  it.each([
    ['a line of the log', `console.error('{"level":"error"}'); process.exit(1)`, true],
    ['a stack trace', "throw new Error('private')", true],
    ['the output of another program', "console.error('private'); process.exit(1)", undefined],
  ] as const)('does not report %s', async (_what, program, tells) => {
    const { states, seen } = start(program, systemClock, tells);
    await seen(({ restarts, state }) => restarts > 0 && state === 'waiting');
    expect(states.filter(({ failure }) => failure !== undefined)).toEqual([]);
  });
});

describe('SupervisedProcess', () => {
  it('restarts a process that crashes, later each time, and states how it ended', async () => {
    const { clock, delays } = fastClock();
    const { seen } = start('process.exit(7)', clock);
    const third = await seen((state) => state.restarts === 3 && state.state === 'waiting');
    expect(third.lastEnd).toBe('exited with code 7');
    expect(delays.slice(0, 3)).toEqual([500, 1000, 2000]);
  });

  it('retries a process that cannot be started at all', async () => {
    const { clock } = fastClock();
    const states: ProcessState[] = [];
    const one = new SupervisedProcess(
      { name: 'none', command: join(folder, 'no-such-program'), args: [], env: {}, directory: folder },
      { clock, openLog: () => openLogFile(join(folder, 'none.log')), changed: (state) => states.push(state) },
    );
    running.push(one);
    const last = await eventually(() => states.find((state) => state.restarts === 2 && state.state === 'waiting'));
    expect(last.lastEnd).toBe('could not be started (ENOENT)');
  });

  it('retries a process that the system refuses at once, and reveals no argument', async () => {
    const { clock } = fastClock();
    const states: ProcessState[] = [];
    const one = new SupervisedProcess(
      { name: 'none', command: process.execPath, args: ['s3cr3t\0'], env: {}, directory: folder },
      { clock, openLog: () => openLogFile(join(folder, 'none.log')), changed: (state) => states.push(state) },
    );
    running.push(one);
    const last = await eventually(() => states.find((state) => state.restarts === 2 && state.state === 'waiting'));
    expect(last.lastEnd).toBe('could not be started (ERR_INVALID_ARG_VALUE)');
  });

  it('starts only when its log can be opened', async () => {
    const { clock } = fastClock();
    const states: ProcessState[] = [];
    let full = 2;
    const openLog = () => {
      if (full-- > 0) throw Object.assign(new Error('no space left on device'), { code: 'ENOSPC' });
      return openLogFile(join(folder, 'one.log'));
    };
    const spec = { name: 'one', command: process.execPath, args: ['-e', FOREVER], env: {}, directory: folder };
    running.push(new SupervisedProcess(spec, { clock, openLog, changed: (state) => states.push(state) }));
    const first = await eventually(() => states.find((state) => state.state === 'running'));
    expect(first).toMatchObject({ restarts: 2, lastEnd: 'could not be started (ENOSPC)' });
  });

  it('ends the children of the process when it is stopped', async () => {
    const { one, seen } = start(
      `const { spawn } = require('node:child_process');
       const inner = spawn(process.execPath, ['-e', '${FOREVER}'], { stdio: 'ignore' });
       console.log(inner.pid);${FOREVER}`,
    );
    const { identity } = await seen((state) => state.state === 'running');
    const inner = Number(await eventually(logged));
    expect(startOf(inner)).toBeDefined();
    await one.stop();
    expect(startOf(identity!.pid)).toBeUndefined();
    await eventually(() => (startOf(inner) === undefined ? true : undefined));
  });

  it('ends the children of a process that crashes', async () => {
    const { clock } = fastClock();
    start(
      `const { spawn } = require('node:child_process');
       const inner = spawn(process.execPath, ['-e', '${FOREVER}'], { stdio: 'ignore' });
       console.log(inner.pid); setTimeout(() => process.exit(1), 50);`,
      clock,
    );
    const inner = Number((await eventually(logged)).split('\n')[0]);
    await eventually(() => (startOf(inner) === undefined ? true : undefined));
  });

  it('kills a process that does not end on its own', async () => {
    const { clock, delays } = fastClock();
    const { one, seen } = start(`process.on('SIGTERM', () => {}); console.log('deaf');${FOREVER}`, clock);
    const { identity } = await seen((state) => state.state === 'running');
    await eventually(logged);
    await one.stop();
    expect(startOf(identity!.pid)).toBeUndefined();
    expect(delays).toContain(3000);
  });

  it('starts nothing after stop', async () => {
    const { one, states } = start(FOREVER);
    await one.stop();
    expect(states.at(-1)).toMatchObject({ state: 'stopped', restarts: 0 });
  });
});

describe('openLogFile', () => {
  it('keeps at most its limit, and as much in the previous file', async () => {
    const path = join(folder, 'bounded.log');
    const log = openLogFile(path, 100);
    for (let line = 0; line < 50; line += 1) log.write(`line ${String(line).padStart(4, '0')}\n`);
    await new Promise<void>((resolve) => log.end(resolve));
    expect(readFileSync(path).length).toBeLessThanOrEqual(100);
    expect(readFileSync(path, 'utf8')).toContain('line 0049');
    expect(readFileSync(`${path}.1`).length).toBeLessThanOrEqual(100);
  });
});
