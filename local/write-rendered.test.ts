import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { RunConfigDocument } from '#crds/run-config/run-config';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { digestOnDisk, pruneRendered, writeRendered } from '#local/write-rendered';
import type { Rendered } from '#operator/plan/outcome';
import { writeText } from '#operator/yaml-text';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'vmcp-rendered-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const documentAt = (port: number): RunConfigDocument => ({
  schema_version: 'v0.1.0',
  server: { namespace: 'default', name: 'demo', uid: 'u' },
  listen: { port },
  incoming: { type: 'anonymous' },
  backends: [],
});
const rendered = (secretFile: string, port: number): Rendered => ({
  document: documentAt(port),
  text: writeText(documentAt(port)),
  configDirectory: join(folder, 'config'),
  secretDirectory: join(folder, 'config', 'secrets'),
  secretFiles: { [secretFile]: { secret: 's', key: 'k' } },
  plainFiles: { 'ca-1': 'certificate' },
});
const value = () => 'the value';
const inodeOf = (name: string) => statSync(join(folder, 'config', name)).ino;

describe('writeRendered', () => {
  it('writes files that only their owner can read', () => {
    writeRendered(rendered('k-1', 1), value);
    expect(readFileSync(join(folder, 'config/secrets/k-1'), 'utf8')).toBe('the value');
    expect(readFileSync(join(folder, 'config/ca-1'), 'utf8')).toBe('certificate');
    for (const name of ['secrets/k-1', 'ca-1', 'run-config.yaml']) {
      expect(statSync(join(folder, 'config', name)).mode & 0o777).toBe(0o600);
    }
    expect(statSync(join(folder, 'config/secrets')).mode & 0o777).toBe(0o700);
  });

  it('does not rewrite unchanged files, so that the runtime does not reload', () => {
    writeRendered(rendered('k-1', 1), value);
    const before = [inodeOf('run-config.yaml'), inodeOf('secrets/k-1')];
    writeRendered(rendered('k-1', 1), value);
    expect([inodeOf('run-config.yaml'), inodeOf('secrets/k-1')]).toEqual(before);
    writeRendered(rendered('k-1', 2), value);
    expect(inodeOf('run-config.yaml')).not.toBe(before[0]);
    expect(inodeOf('secrets/k-1')).toBe(before[1]);
  });

  it('keeps former files until they are pruned, and leaves no partial file', () => {
    writeRendered(rendered('k-1', 1), value);
    const former = digestOnDisk(join(folder, 'config'));
    writeRendered(rendered('k-2', 2), value);
    expect(digestOnDisk(join(folder, 'config'))).not.toBe(former);
    expect(readdirSync(join(folder, 'config/secrets')).sort()).toEqual(['k-1', 'k-2']);
    pruneRendered(rendered('k-2', 2));
    expect(readdirSync(join(folder, 'config/secrets'))).toEqual(['k-2']);
    expect(readdirSync(join(folder, 'config')).sort()).toEqual(['ca-1', 'run-config.yaml', 'secrets']);
  });
});
