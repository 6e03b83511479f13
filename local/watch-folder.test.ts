import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { watchFolder } from '#local/watch-folder';
import { type Clock, systemClock } from '#operator/queue';

let folder: string;
let stop: () => void;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'vmcp-watch-'));
});
afterEach(() => {
  stop();
  rmSync(folder, { recursive: true, force: true });
});

const pause = (milliseconds: number) => new Promise((resolve) => setTimeout(resolve, milliseconds));

/** Watches the folder and counts notifications. `clock` decides whether system events or the polling counts. */
function watching(clock: Clock): { count: () => number; told: (times: number) => Promise<void> } {
  let count = 0;
  stop = watchFolder(folder, clock, () => (count += 1));
  async function told(times: number): Promise<void> {
    for (let waited = 0; waited < 5000 && count < times; waited += 20) await pause(20);
    expect(count).toBe(times);
  }
  return { count: () => count, told };
}

describe('watchFolder', () => {
  it('reports several writes at one moment once', async () => {
    const { told, count } = watching(systemClock);
    for (const name of ['a.yaml', 'b.yaml', 'c.yaml']) writeFileSync(join(folder, name), 'one');
    await told(1);
    await pause(300);
    expect(count()).toBe(1);
  });

  it('detects a file that replaces another one', async () => {
    writeFileSync(join(folder, 'a.yaml'), 'one');
    const { told } = watching(systemClock);
    writeFileSync(join(folder, 'a.yaml.new'), 'two');
    renameSync(join(folder, 'a.yaml.new'), join(folder, 'a.yaml'));
    await told(1);
  });

  it('does not report files that are not manifests', async () => {
    const { count } = watching(systemClock);
    writeFileSync(join(folder, 'notes.txt'), 'one');
    await pause(400);
    expect(count()).toBe(0);
  });

  it('polls the folder when the system sends no event', async () => {
    // The quiet period after an event never ends here, so only the polling can report the change.
    const clock: Clock = {
      now: () => Date.now(),
      after: (delay, then) => (delay < 1000 ? () => undefined : systemClock.after(20, then)),
    };
    const { told } = watching(clock);
    writeFileSync(join(folder, 'a.yaml'), 'one');
    await told(1);
  });
});
