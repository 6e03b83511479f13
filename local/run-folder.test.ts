import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { readLock } from './lock.ts';
import { runFolder } from './run-folder.ts';
import { locateState, type StateFolder } from './state-folder.ts';

let home: string;
let state: StateFolder;
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'vmcp-run-folder-'));
  state = locateState(join(home, '.vmcp'));
});
afterEach(() => rmSync(home, { recursive: true }));

const closed: string[] = [];
const run = () =>
  runFolder({
    folder: home,
    state,
    build: '',
    runtime: [],
    environment: {},
    containerEngine: undefined,
    secrets: { files: [], listen: () => () => undefined, read: () => Promise.resolve(new Map<string, string>()) },
    stop: new AbortController().signal,
    onProblem: () => undefined,
    beside: () => Promise.resolve({ close: () => Promise.resolve(void closed.push('beside')) }),
  });

describe('runFolder', () => {
  it('leaves nothing open and releases the state folder when it cannot start', async () => {
    mkdirSync(state.digestKey, { recursive: true });
    await expect(run()).rejects.toThrow('EISDIR');
    expect(closed).toEqual(['beside']);
    expect(readLock(state)).toBeUndefined();
  });

  it('closes the service opened by `beside` when it is stopped', async () => {
    writeFileSync(join(home, 'a.yaml'), 'apiVersion: vmcp.dev/v1alpha1\nkind: MCPGroup\nmetadata: {name: tools}\n');
    const running = await run();
    expect(running.statusFile.localStatus.resources.map(({ key }) => key.name)).toEqual(['tools']);
    closed.length = 0;
    await running.stop();
    expect(closed).toEqual(['beside']);
    expect(readLock(state)).toBeUndefined();
  });
});
