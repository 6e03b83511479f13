import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { findContainerEngine } from './find-container-engine.ts';

let root: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'vmcp-path-'));
});
afterEach(() => rmSync(root, { recursive: true }));

/** Creates a folder of a search path with these files. */
function folder(name: string, files: Record<string, number>): string {
  const path = join(root, name);
  mkdirSync(path);
  for (const [file, mode] of Object.entries(files)) writeFileSync(join(path, file), '', { mode });
  return path;
}

describe('findContainerEngine', () => {
  it('returns the first of podman, docker and nerdctl, in any folder of the search path', () => {
    const [one, two] = [folder('one', { docker: 0o755, nerdctl: 0o755 }), folder('two', { podman: 0o755 })];
    expect(findContainerEngine([one, two].join(delimiter))).toBe('podman');
    expect(findContainerEngine(one)).toBe('docker');
    expect(findContainerEngine(['', folder('three', { nerdctl: 0o755 })].join(delimiter))).toBe('nerdctl');
  });

  it('ignores files that are not executable, folders of that name, and missing folders of the search path', () => {
    const path = folder('one', { podman: 0o644 });
    mkdirSync(join(path, 'docker'));
    expect(findContainerEngine([path, join(root, 'nowhere')].join(delimiter))).toBeUndefined();
    expect(findContainerEngine('')).toBeUndefined();
  });
});
