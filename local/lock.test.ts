import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { AlreadyRunning, readLock, takeLock } from '#local/lock';
import { startOf } from '#local/process-identity';
import { locateState, openState, type StateFolder } from '#local/state-folder';

let state: StateFolder;
beforeEach(() => {
  state = locateState(mkdtempSync(join(tmpdir(), 'vmcp-lock-')));
  openState(state);
});
afterEach(() => rmSync(state.path, { recursive: true, force: true }));

describe('the lock of a state folder', () => {
  it('belongs to one process, which the error message names', () => {
    takeLock(state, '/manifests', 'build');
    expect(() => takeLock(state, '/manifests', 'build')).toThrow(AlreadyRunning);
    expect(() => takeLock(state, '/manifests', 'build')).toThrow(`process ${process.pid}, folder /manifests`);
    expect(readLock(state)).toMatchObject({ pid: process.pid, folder: '/manifests', build: 'build' });
  });

  it('can be taken again after its release', () => {
    takeLock(state, '/manifests', 'build')();
    expect(readLock(state)).toBeUndefined();
    takeLock(state, '/manifests', 'build');
    expect(readLock(state)).toBeDefined();
  });

  it('becomes free when its process has ended', () => {
    const gone = spawnSync(process.execPath, ['-e', '']).pid;
    writeFileSync(state.lock, JSON.stringify({ pid: gone, started: '1', folder: '/manifests' }));
    takeLock(state, '/manifests', 'build');
    expect(readLock(state)?.pid).toBe(process.pid);
  });

  it('counts as free when another process has the same id', () => {
    writeFileSync(state.lock, JSON.stringify({ pid: process.pid, started: 'long ago', folder: '/manifests' }));
    expect(startOf(process.pid)).not.toBe('long ago');
    takeLock(state, '/other', 'build');
    expect(readLock(state)?.folder).toBe('/other');
  });

  it('counts as free when it cannot be read, and leaves no other file behind', () => {
    writeFileSync(state.lock, '{"pid":');
    takeLock(state, '/manifests', 'build');
    expect(JSON.parse(readFileSync(state.lock, 'utf8'))).toMatchObject({ pid: process.pid });
    expect(readdirSync(state.path).filter((name) => name.startsWith('lock'))).toEqual(['lock.json']);
  });
});
