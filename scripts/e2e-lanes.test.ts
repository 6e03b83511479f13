import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { e2eLanes } from './e2e-lanes.ts';

const ROOT = join(import.meta.dirname, '..');
const JEST = 'node_modules/jest/bin/jest.js';

/** Returns the files that jest runs with these arguments. */
const list = (args: readonly string[]) =>
  execFileSync(process.execPath, [JEST, '--listTests', ...args], { cwd: ROOT, encoding: 'utf8' })
    .trim()
    .split('\n');

describe('e2eLanes', () => {
  const all = list(['e2e/'])
    .filter((file) => !file.includes('/e2e/cluster/'))
    .sort();

  it.each([true, false])('run each file once, with separate networks: %s', (separateNetworks) => {
    expect(e2eLanes(separateNetworks).flatMap(list).sort()).toEqual(all);
  });
});
