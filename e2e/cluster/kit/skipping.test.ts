import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from '@jest/globals';
import { z } from 'zod';
import { runProgram } from '../run-program.ts';

const ROOT = join(import.meta.dirname, '../../..');
const SUITE = 'e2e/cluster/evil-backend.test.ts';
const Summary = z.object({
  numPendingTests: z.number(),
  numPassedTests: z.number(),
  numFailedTests: z.number(),
  testResults: z.array(z.object({ assertionResults: z.array(z.object({ fullName: z.string() })) })),
});

it('tests that need a cluster count as skipped, one by one, and report the missing requirement', async () => {
  const jest = ['--experimental-vm-modules', 'node_modules/jest/bin/jest.js', '--json', '--ci'];
  const { code, stdout, stderr } = await runProgram(process.execPath, [...jest, SUITE], {
    deadline: 120_000,
    cwd: ROOT,
    env: { E2E_KUBECONFIG: '', E2E_NO_CLUSTER: 'needs root' },
  });
  const summary = Summary.parse(JSON.parse(stdout));
  const count = readFileSync(join(ROOT, SUITE), 'utf8').match(/^ {2}it\(/gm)?.length ?? 0;
  expect(count).toBeGreaterThan(3);
  expect([code, summary.numPendingTests, summary.numPassedTests, summary.numFailedTests]).toEqual([0, count, 0, 0]);
  const names = summary.testResults.flatMap(({ assertionResults }) => assertionResults.map(({ fullName }) => fullName));
  expect(names).toEqual(Array(count).fill(expect.stringContaining('skipped: no cluster; needs root')));
  expect(stderr).toContain('a backend that collects what it is sent: skipped: no cluster; needs root');
}, 150_000);
