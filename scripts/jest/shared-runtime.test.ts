import { afterAll, describe, expect, it } from '@jest/globals';
import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { z } from 'zod';

const JEST = ['--experimental-vm-modules', join(import.meta.dirname, '../../node_modules/jest/bin/jest.js')];
const Report = z.object({
  testResults: z.array(
    z.object({
      message: z.string(),
      assertionResults: z.array(
        z.object({ title: z.string(), status: z.string(), failureMessages: z.array(z.string()) }),
      ),
    }),
  ),
});

const FILES = {
  'shared.ts': `import { beforeEach } from '@jest/globals';
export const loaded: string[] = [];
export const push = (name: string) => beforeEach(() => void loaded.push(name));`,
  'a.test.ts': `import { describe, expect, it, jest } from '@jest/globals';
import { loaded, push } from './shared.ts';
push('a');
it('calls hooks of a shared module', () => expect(loaded).toEqual(['a']));
it('changes globals', () => {
  process.env.VMCP_PROBE = 'a';
  jest.spyOn(Date, 'now').mockReturnValue(1);
  jest.useFakeTimers();
  expect(new Date().getTime()).toBeGreaterThan(1);
});
it('rejects a wrong value', () => expect([1]).toEqual([2]));
it('rejects a late error', async () => {
  jest.useRealTimers();
  setTimeout(() => { throw new Error('late'); });
  await new Promise((resolve) => setTimeout(resolve, 50));
});
it('rejects a test that hangs', () => new Promise(() => undefined), 20);
jest.useFakeTimers();`,
  'b.test.ts': `import { expect, it } from '@jest/globals';
import { loaded, push } from './shared.ts';
push('b');
it('imports a module once', () => expect(loaded).toEqual(['a', 'a', 'a', 'a', 'a', 'b']));
it('finds globals restored', async () => {
  expect(process.env.VMCP_PROBE).toBeUndefined();
  expect(Date.now()).toBeGreaterThan(1);
  await new Promise((resolve) => setTimeout(resolve, 1));
});
it.each([1, 2])('takes number %d of a table', (number) => expect([number]).toEqual([expect.any(Number)]));`,
  'c.test.ts': `import './missing.ts';`,
  'd.test.ts': `/** @jest-environment node */
import { expect, it } from '@jest/globals';
import { loaded } from './shared.ts';
it('imports its own modules', () => expect(loaded).toEqual([]));`,
};

/** Runs the files in the order of their names. Returns `status: title` of each test, and the messages of the files. */
async function runFiles(folder: string): Promise<{ tests: string[]; messages: string }> {
  for (const [name, text] of Object.entries(FILES)) writeFileSync(join(folder, name), text);
  writeFileSync(
    join(folder, 'order.cjs'),
    'module.exports = class { sort(tests) { return tests.sort((a, b) => (a.path < b.path ? -1 : 1)); } cacheResults() {} };',
  );
  const config = {
    rootDir: folder,
    extensionsToTreatAsEsm: ['.ts'],
    testMatch: ['**/*.test.ts'],
    testEnvironment: join(import.meta.dirname, 'shared-environment.ts'),
    runtime: join(import.meta.dirname, 'shared-runtime.ts'),
    testSequencer: join(folder, 'order.cjs'),
    transform: { '\\.ts$': join(import.meta.dirname, '../../node_modules/@swc/jest/index.js') },
    watchman: false,
  };
  const args = [
    '--runInBand',
    '--json',
    '--outputFile',
    join(folder, 'report.json'),
    '--config',
    JSON.stringify(config),
  ];
  await promisify(execFile)(process.execPath, [...JEST, ...args], { cwd: folder }).catch(() => undefined);
  const { testResults } = Report.parse(JSON.parse(readFileSync(join(folder, 'report.json'), 'utf8')));
  const tests = testResults.flatMap(({ assertionResults }) => assertionResults);
  return {
    tests: tests.map(({ status, title }) => `${status}: ${title}`).sort(),
    messages: testResults.map(({ message }) => message).join('\n'),
  };
}

describe('createRuntime', () => {
  const folder = mkdtempSync(join(tmpdir(), 'vmcp-jest-'));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  it('imports modules once for all files, restores globals, and reports what fails', async () => {
    const { tests, messages } = await runFiles(folder);
    expect(tests).toEqual([
      'failed: rejects a late error',
      'failed: rejects a test that hangs',
      'failed: rejects a wrong value',
      'passed: calls hooks of a shared module',
      'passed: changes globals',
      'passed: finds globals restored',
      'passed: imports a module once',
      'passed: imports its own modules',
      'passed: takes number 1 of a table',
      'passed: takes number 2 of a table',
    ]);
    expect(messages).toContain('missing.ts');
    expect(messages).toMatch(/a\.test\.ts:\d+:\d+/);
  });
});
