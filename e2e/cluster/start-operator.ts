import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { type Program, startProgram } from '../gateway/start-program.ts';
import { IMAGES } from './images.ts';
import type { Cluster } from './use-cluster.ts';

const ROOT = join(import.meta.dirname, '../..');
const BUILT = join(ROOT, 'dist/operator.js');

/** How an operator of a test differs from others. */
export interface Particular {
  /** Variables besides those of the test, e.g. `POD_NAMESPACE`: where the operator takes itself to be. */
  env?: Record<string, string>;
}

/**
 * Starts the operator on this machine, for some namespaces of a cluster: suites do not disturb each other. As a pod it is
 * tried by the suites of the chart. Who watches a namespace alone needs no Lease.
 */
export function startOperator(
  cluster: Cluster,
  namespaces: readonly string[],
  flags: readonly string[] = [],
  { env = {} }: Particular = {},
): Program {
  const program = existsSync(BUILT) ? BUILT : join(ROOT, 'operator/main.ts');
  const own = ['--no-leader-election', '--bind-address=127.0.0.1', '--health-port=0', '--metrics-port=0'];
  const what = [`--watch-namespace=${namespaces.join(',')}`, `--runtime-image=${IMAGES.runtime}`];
  const args = [program, `--kubeconfig=${cluster.kubeconfig}`, ...own, ...what, ...flags];
  return startProgram(process.execPath, args, { ...process.env, ...env });
}
