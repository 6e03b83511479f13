import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { takeLock } from '#local/lock';
import { locateState, openState, type StateFolder } from '#local/state-folder';
import { waitUntilListed } from './wait-until-listed.ts';

const LONGER_THAN_THE_TEST = 600_000;
const STARTED = Date.parse('2026-01-02T03:00:00Z');

let state: StateFolder;
beforeEach(() => {
  state = locateState(mkdtempSync(join(tmpdir(), 'vmcp-listed-')));
  openState(state);
});
afterEach(() => rmSync(state.path, { recursive: true }));

/** Writes the report of `vmcp up` about a server with this backend. */
function report(backend: Record<string, unknown>, processes: object[] = []): void {
  const lastTransitionTime = '2026-01-02T03:04:05Z';
  const status = { phase: 'Degraded', conditions: [], backends: [{ lastTransitionTime, message: '', ...backend }] };
  const key = { kind: 'VirtualMCPServer', namespace: 'default', name: 'tools' };
  const resources = [{ key, status, isEndpoint: true }];
  const localStatus = { pid: process.pid, folder: state.path, settled: true, problems: [], resources, processes };
  writeFileSync(state.status, JSON.stringify(localStatus));
}

/** Advances a fake clock, and calls `act` at `at` milliseconds. */
const wait = (patience = LONGER_THAN_THE_TEST, at = Infinity, act: () => unknown = () => undefined) => {
  const context = { state, err: new PassThrough(), typed: (line: string) => `vmcp ${line}` };
  let now = 0;
  const pause = (milliseconds: number) => {
    if (now < at && now + milliseconds >= at) act();
    now += milliseconds;
    return Promise.resolve();
  };
  return waitUntilListed('notes', patience, context, new AbortController().signal, {
    clock: { now: () => now, pause },
    startedAt: STARTED,
  });
};

it.each([
  [{ phase: 'Unavailable', loginUrl: 'https://id.example.com/' }, /log in at it once: vmcp login notes$/],
  [{ phase: 'Excluded', message: 'no such Secret' }, /its tools are not listed: no such Secret\nsee "vmcp logs notes"/],
])('does not wait for a fault that needs a user: %j', async (backend, said) => {
  const unlock = takeLock(state, state.path, 'test');
  try {
    report({ name: 'notes', ...backend });
    await expect(wait()).rejects.toMatchObject({ exitCode: 3, message: expect.stringMatching(said) });
  } finally {
    unlock();
  }
});

it('reports exit and last output of the program, not only the failed connection', async () => {
  const unlock = takeLock(state, state.path, 'test');
  try {
    const ended = { name: 'mcp-notes', state: 'waiting', restarts: 3, lastEnd: 'exited with code 125' };
    report({ name: 'notes', phase: 'Unavailable', message: 'cannot be reached (ECONNREFUSED)' }, [ended]);
    writeFileSync(join(state.logs, 'mcp-notes.log'), 'pulling\nno such image: \u001b[31mnotes\n');
    const said =
      'its tools are not listed: its program exited with code 125, 4 times, and said: no such image: \\u001b[31mnotes\n';
    await expect(wait()).rejects.toMatchObject({ exitCode: 3, message: expect.stringContaining(said) });
  } finally {
    unlock();
  }
});

it('stops waiting for a stdio program that exits repeatedly, and reports its output', async () => {
  const unlock = takeLock(state, state.path, 'test');
  const gone = (time: string, backend = 'notes') =>
    `${JSON.stringify({ time, message: 'the process of a backend is gone', backend, reason: 'exited with code 1', said: 'no settings\nat all' })}\n`;
  const ends = ['2026-01-02T02:59:59Z', '2026-01-02T03:00:01Z', '2026-01-02T03:00:02Z'].map((time) => gone(time));
  const log = join(state.logs, 'vmcp-tools.log');
  try {
    report({ name: 'notes', phase: 'Unavailable', message: 'its process exited with code 1' });
    // Adds exits of an earlier workload of that name and of another one, and an invalid line.
    writeFileSync(log, [...ends, gone('2026-01-02T03:00:02Z', 'another'), 'no JSON\n'].join(''));
    const third = () => writeFileSync(log, gone('2026-01-02T03:00:04Z'), { flag: 'a' });
    let isThere = false;
    const failed = wait(LONGER_THAN_THE_TEST, 30_000, () => {
      isThere = true;
      third();
    });
    const said = 'its program exited with code 1, 3 times, and said:\n  no settings\n  at all\nsee "vmcp logs notes"';
    await expect(failed).rejects.toMatchObject({ exitCode: 3, message: expect.stringContaining(said) });
    expect(isThere).toBe(true);
  } finally {
    unlock();
  }
});

it('reports what is missing if no endpoint offers the workload', async () => {
  const unlock = takeLock(state, state.path, 'test');
  try {
    report({ name: 'another', phase: 'Ready', tools: 1 });
    await expect(wait(1)).rejects.toMatchObject({
      exitCode: 3,
      message: expect.stringMatching(/no endpoint here offers its group: write a VirtualMCPServer .*"vmcp edit notes"/),
    });
  } finally {
    unlock();
  }
});

it('waits for a backend that is briefly excluded because its secret is new', async () => {
  const unlock = takeLock(state, state.path, 'test');
  try {
    report({ name: 'notes', phase: 'Excluded', message: 'no such Secret' });
    const listed = wait(LONGER_THAN_THE_TEST, 4_000, () => report({ name: 'notes', phase: 'Ready', tools: 1 }));
    expect(await listed).toHaveLength(1);
  } finally {
    unlock();
  }
});
