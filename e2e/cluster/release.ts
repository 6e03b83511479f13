import { expect } from '@jest/globals';
import { CHART, helm, TEST_IMAGES } from './chart.ts';
import type { Finished } from './run-program.ts';
import { untilEstablished } from './stage.ts';
import type { Cluster } from './use-cluster.ts';

/** Plurals of the kinds that the chart defines. */
export const KINDS = ['virtualmcpservers', 'mcpgroups', 'mcpservers', 'mcpexternalauthconfigs', 'mcpoidcconfigs'];

/** Returns a release of the chart with a separate API group, so that suites do not interfere. */
export function releaseOf(cluster: Cluster, group: string, namespace: () => string) {
  const name = `vmcp-${group.replace('.test', '')}`;
  const run = (command: string, ...args: string[]) => helm(cluster, [command, name, ...args, '-n', namespace()]);
  const values = [`--set=apiGroup=${group}`, ...TEST_IMAGES, '--wait', '--timeout=120s'];
  return {
    name,
    install: (...args: string[]) => run('install', CHART, ...values, ...args),
    upgrade: (...args: string[]) => run('upgrade', CHART, ...values, ...args),
    /** Upgrades to another version of the chart. */
    upgradeTo: (chart: string, ...args: string[]) => run('upgrade', chart, ...values, ...args),
    run,
    kubectl: (...args: string[]) => cluster.kubectl(['-n', namespace(), ...args]),
    apply: (text: string, ...args: string[]) => cluster.kubectl(['-n', namespace(), 'apply', ...args, '-f', '-'], text),
    /** Resolves when the API server serves the definitions. */
    async established() {
      isDone(await untilEstablished(cluster, ...KINDS.map((kind) => `crd/${kind}.${group}`)));
    },
    async removeDefinitions() {
      await cluster.kubectl([
        'delete',
        '--ignore-not-found',
        '--wait=false',
        'crd',
        ...KINDS.map((kind) => `${kind}.${group}`),
      ]);
    },
  };
}

/** Expects exit code 0, and nothing but warnings on standard error. */
export function isDone({ code, stderr }: Finished): void {
  expect([code, stderr.replaceAll(/^.*(WARN|Warning).*\n?/gm, '')]).toEqual([0, '']);
}
