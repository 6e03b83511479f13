import { describe } from '@jest/globals';
import { isInstalled } from './is-installed.ts';

const PROGRAMS = ['redis-server', 'redis-sentinel'];

/** What of Redis is not on this machine; undefined: all is there. */
export function missingRedis(): string | undefined {
  const missing = PROGRAMS.filter((program) => !isInstalled(program));
  if (missing.length === 0) return undefined;
  return `skipped: ${missing.join(' and ')} not found; apt-get install redis-server redis-sentinel`;
}

/** Tests against a real Redis. Where there is none they are skipped, and say why. */
export function describeWithRedis(name: string, tests: () => void): void {
  const missing = missingRedis();
  if (missing === undefined) {
    describe(name, tests);
    return;
  }
  // Names of skipped tests are shown only in verbose runs.
  process.stderr.write(`${name}: ${missing}\n`);
  describe.skip(`${name} (${missing})`, tests);
}
