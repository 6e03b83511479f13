import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { noteContainers, removeNoted } from './containers.ts';
import { locateState, type StateFolder } from './state-folder.ts';

/** An engine whose containers are the lines of a file. A removal that is configured to fail keeps them all. */
const ENGINE = `#!/bin/sh
cd "$(dirname "$0")" || exit 1
case "$1" in
  ps) [ -e away ] && exit 125; cat containers ;;
  kill) exit 1 ;;
  rm) if [ -e failing ]; then rm failing; exit 1; fi; : >containers ;;
esac
`;

let folder: string;
let state: StateFolder;
let environment: NodeJS.ProcessEnv;
const write = (name: string, text = '') => writeFileSync(join(folder, name), text);

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'vmcp-engine-'));
  state = locateState(join(folder, 'state'));
  mkdirSync(state.path);
  environment = { PATH: `${folder}:/usr/bin:/bin` };
  write('podman', ENGINE);
  chmodSync(join(folder, 'podman'), 0o755);
  write('containers', 'one\ntwo\n');
  noteContainers(state, { engine: 'podman', labels: ['a=b'] });
});
afterEach(() => rmSync(folder, { recursive: true }));

describe('removeNoted', () => {
  it('removes containers, also when the engine needs several attempts', async () => {
    write('failing');
    expect(await removeNoted(state, environment)).toBe(2);
    expect(readFileSync(join(folder, 'containers'), 'utf8')).toBe('');
    expect(existsSync(state.containers)).toBe(false);
  });

  it('keeps containers noted while the engine does not answer', async () => {
    write('away');
    expect(await removeNoted(state, environment)).toBe(0);
    expect(existsSync(state.containers)).toBe(true);
    rmSync(join(folder, 'away'));
    expect(await removeNoted(state, environment)).toBe(2);
    expect(existsSync(state.containers)).toBe(false);
  });

  it('drops the noted containers when the engine is no longer installed', async () => {
    expect(await removeNoted(state, { PATH: join(folder, 'nowhere') })).toBe(0);
    expect(existsSync(state.containers)).toBe(false);
  });
});
