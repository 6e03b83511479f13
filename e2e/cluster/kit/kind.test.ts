import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { openCluster } from '../open-cluster.ts';

const { PATH = '' } = process.env;
const PROGRAMS = ['kind', 'docker', 'kubectl', 'helm'];
let folder: string;

/** A program that notes how it was called, and ends as it is told. */
function program(name: string, script: string): void {
  writeFileSync(join(folder, name), `#!/bin/sh\necho "${name} $1 $2" >>${folder}/calls\n${script}\n`, { mode: 0o755 });
}
const calls = () =>
  readFileSync(join(folder, 'calls'), 'utf8')
    .trim()
    .split('\n')
    .map((line) => line.trim());
const leftFolders = () => readdirSync(tmpdir()).filter((name) => name.startsWith('vmcp-kind-'));
const open = () => openCluster({ kubeconfig: undefined, kind: true }, () => undefined);

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'vmcp-programs-'));
  for (const name of PROGRAMS) program(name, 'exit 0');
  process.env.PATH = [folder, PATH].join(delimiter);
});
afterEach(() => {
  process.env.PATH = PATH;
  rmSync(folder, { recursive: true });
});

describe('a cluster by kind', () => {
  it('is missing where one of its programs is, by name', async () => {
    process.env.PATH = folder;
    rmSync(join(folder, 'helm'));
    rmSync(join(folder, 'kind'));
    expect(await open()).toEqual({ missing: 'E2E_CLUSTER=kind needs kind, helm' });
  });

  it('is missing where Docker is a client without a daemon, and nothing is begun', async () => {
    program('docker', 'exit 1');
    expect(await open()).toEqual({
      missing: expect.stringContaining('no daemon answers docker info: start it') as unknown,
    });
    expect(calls()).toEqual(['docker info']);
  });

  it('that cannot be made says why, whatever comes of taking it away, and leaves nothing', async () => {
    const before = leftFolders();
    program('kind', 'echo "no room for $1" >&2; exit 1');
    await expect(open()).rejects.toThrow('no room for create');
    expect(calls()).toEqual(['docker info', 'kind create cluster', 'kind delete cluster']);
    expect(leftFolders()).toEqual(before);
  });
});
