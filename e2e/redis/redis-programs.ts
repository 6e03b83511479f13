import { describe } from '@jest/globals';
import { isInstalled } from './is-installed.ts';

const PROGRAMS = ['redis-server', 'redis-sentinel'];

/** Returns the Redis programs that this machine lacks; undefined: none. */
export function missingRedis(): string | undefined {
  const missing = PROGRAMS.filter((program) => !isInstalled(program));
  if (missing.length === 0) return undefined;
  return `skipped: ${missing.join(' and ')} not found; apt-get install redis-server redis-sentinel`;
}

/** Declares tests against a real Redis. Skips them with the reason if the machine has none. */
export function describeWithRedis(name: string, tests: () => void): void {
  const missing = missingRedis();
  if (missing === undefined) {
    describe(name, tests);
    return;
  }
  // Jest shows the names of skipped tests only in verbose runs.
  process.stderr.write(`${name}: ${missing}\n`);
  describe.skip(`${name} (${missing})`, tests);
}
