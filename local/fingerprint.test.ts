import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { fingerprintOf } from './fingerprint.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'vmcp-build-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

describe('fingerprintOf', () => {
  it('depends on the content of the programs, not on their modification times', () => {
    const programs = ['vmcp.js', 'runtime.js'].map((name) => join(folder, name));
    for (const program of programs) writeFileSync(program, 'one');
    const before = fingerprintOf(programs);
    writeFileSync(programs[0]!, 'one');
    expect(fingerprintOf(programs)).toBe(before);
    writeFileSync(programs[1]!, 'two');
    expect(fingerprintOf(programs)).not.toBe(before);
    expect(fingerprintOf([...programs].reverse())).not.toBe(fingerprintOf(programs));
    expect(fingerprintOf([join(folder, 'gone')])).toMatch(/^[0-9a-f]{16}$/);
  });
});
