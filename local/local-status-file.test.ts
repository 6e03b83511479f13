import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { Children } from '#local/children';
import { takeLock } from '#local/lock';
import { LocalPlatform } from '#local/platform';
import { ProgramPorts } from '#local/program-ports';
import { locateState, openState, type StateFolder } from '#local/state-folder';
import { type LocalStatus, OtherVersion, readLocalStatus, LocalStatusFile } from '#local/local-status-file';
import { systemClock } from '#operator/queue';
import { keyText } from '#operator/snapshot';

let folder: string;
let state: StateFolder;
let unlock: () => void;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'vmcp-status-'));
  state = locateState(join(folder, '.vmcp'));
  openState(state);
  unlock = takeLock(state, folder, 'build');
});
afterEach(() => {
  unlock();
  rmSync(folder, { recursive: true, force: true });
});

/** Blocks a path: a folder there makes every write fail. */
const block = (path: string) => {
  rmSync(path, { force: true });
  mkdirSync(join(path, 'inside'), { recursive: true });
};
const unblock = (path: string) => rmSync(path, { recursive: true });
const files = ({ problems }: LocalStatus) => problems.map(({ file }) => file);
const running = (name: string) => ({ name, state: 'running', restarts: 0 }) as const;

describe('LocalStatusFile', () => {
  it('reads back what it wrote', () => {
    const statusFile = new LocalStatusFile(state, folder);
    const condition = { type: 'Ready', status: 'True', reason: 'R', message: '', lastTransitionTime: 'now' } as const;
    const key = { kind: 'MCPGroup', namespace: 'default', name: 'tools' } as const;
    statusFile.setStatus(key, { phase: 'Ready', conditions: [condition], servers: ['one'], serverCount: 1 }, false);
    statusFile.setProcess(running('one'));
    statusFile.settle();
    expect(readLocalStatus(state)).toEqual(statusFile.localStatus);
  });

  it('rejects a report of another version, with the remedy', () => {
    writeFileSync(state.status, JSON.stringify({ pid: process.pid, resources: [{ name: 'as it once was' }] }));
    expect(() => readLocalStatus(state)).toThrow(OtherVersion);
  });

  it('keeps serving its listeners while its file cannot be written, and reports the problem until it can', () => {
    const statusFile = new LocalStatusFile(state, folder);
    const seen: LocalStatus[] = [];
    statusFile.listen((one) => seen.push(one));
    block(state.status);
    statusFile.setProcess(running('one'));
    expect(files(seen.at(-1)!)).toEqual([state.status]);
    expect(seen.at(-1)!.processes).toHaveLength(1);
    unblock(state.status);
    statusFile.setProcess(running('two'));
    expect(files(seen.at(-1)!)).toEqual([]);
    expect(readLocalStatus(state)).toEqual(statusFile.localStatus);
  });

  it('reports that processes cannot be recorded, and ends nothing', async () => {
    const statusFile = new LocalStatusFile(state, folder);
    const children = new Children(
      { state, clock: systemClock, statusFile },
      new ProgramPorts(() => undefined),
      () => undefined,
    );
    block(state.children);
    const child = { platform: 'local', role: 'backend', name: 'mcp-one', port: 0, restartToken: '1' } as never;
    const spec = { name: 'mcp-one', command: process.execPath, args: ['-e', 'setInterval(() => 0, 1000)'] };
    await children.start('owner', child, { ...spec, env: {}, directory: folder }, []);
    expect(files(statusFile.localStatus)).toEqual([state.children]);
    unblock(state.children);
    await children.stopAll();
    expect(files(statusFile.localStatus)).toEqual([]);
  });

  it('reports that ports cannot be recorded, and still passes on every change', async () => {
    const statusFile = new LocalStatusFile(state, folder);
    block(state.allocations);
    writeFileSync(join(folder, 'a.yaml'), 'apiVersion: vmcp.dev/v1alpha1\nkind: MCPGroup\nmetadata: {name: tools}\n');
    const platform = new LocalPlatform({
      folder,
      state,
      statusFile,
      clock: systemClock,
      runtime: [],
      environment: {},
      containerEngine: undefined,
      secrets: { files: [], listen: () => () => undefined, read: () => Promise.resolve(new Map<string, string>()) },
    });
    const told: string[] = [];
    await platform.watch((key) => told.push(keyText(key)));
    expect(told).toEqual(['MCPGroup/default/tools']);
    expect(files(statusFile.localStatus)).toEqual([state.allocations]);
    await platform.close();
  });
});
