import { statSync } from 'node:fs';

/** Files of half a minute or more, the longest first. A long file that starts late ends after all others. */
export const LONGEST = [
  'e2e/cluster/logins',
  'e2e/relay/large-results',
  'e2e/relay/idle-memory',
  'e2e/cli/new-user',
  'e2e/cluster/operator',
  'e2e/cluster/chart-upgrade',
  'e2e/accepted/accepted-runs',
  'e2e/cluster/rollouts',
  'e2e/cluster/reconcile',
  'e2e/cluster/chart',
  'e2e/attacks/large-answers',
  'e2e/cluster/readiness',
  'e2e/cluster/requests',
  'e2e/attacks/held-memory',
  'e2e/cluster/stdio',
  'e2e/cli/workloads',
  'e2e/relay/cancelled-calls',
  'e2e/relay/waiting-calls',
  'e2e/cluster/updates',
  'e2e/relay/slow-members',
  'e2e/pages/double-clicks',
  'e2e/local/restarted-sessions',
  'e2e/cluster/secrets',
  'e2e/cluster/cli',
  'e2e/sdk-servers/sdk-servers',
  'e2e/skills/killed',
  'e2e/skills/git',
  'e2e/containers/images',
  'e2e/cluster/management-skills',
  'e2e/local/quickstart',
  'e2e/local/containers',
  'runtime/mcp/transports/stdio-backend',
  'runtime/policy/remember-decisions.property',
  'runtime/authserver/login/login-chain',
  'management/operations/body-fields',
  'management/operations/registries',
  'management/registries/registry-login',
  'operator/kubernetes/webhook/serve-webhook',
] as const;

interface Test {
  path: string;
}

/** Returns the position in the list; the length of the list for files that are not in it. */
function positionOf(path: string): number {
  const found = LONGEST.findIndex((file) => path.endsWith(`/${file}.test.ts`));
  return found === -1 ? LONGEST.length : found;
}

/** Jest's test sequencer: the longest files first, the others by size. */
class LongestFirst {
  sort<T extends Test>(tests: readonly T[]): T[] {
    const keyed = tests.map((test) => ({ test, position: positionOf(test.path), size: statSync(test.path).size }));
    return keyed.sort((a, b) => a.position - b.position || b.size - a.size).map(({ test }) => test);
  }

  allFailedTests<T extends Test>(tests: readonly T[]): readonly T[] {
    return tests;
  }

  /** Jest calls it after each run. The order does not depend on earlier runs. */
  cacheResults(): undefined {
    return undefined;
  }
}

// Jest requires a default export.
export { LongestFirst as default };
