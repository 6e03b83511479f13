import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Program, startProgram } from '../gateway/start-program.ts';
import { applyRoles, kubeconfigOf } from './accounts.ts';
import { NAMESPACED } from './chart.ts';
import { IMAGES } from './images.ts';
import type { Cluster } from './use-cluster.ts';

const ROOT = join(import.meta.dirname, '../..');
const ATTACH = '--stdio-attach';

/** Name of the account of an operator that the tests start, in the first namespace that it watches. */
export const OPERATOR_ACCOUNT = 'vmcp-operator';

/** Variables of an operator whose timers run a minute in a second. */
export const HASTENED = { NODE_OPTIONS: `--import=${new URL('./hasten-timers.ts', import.meta.url).href}` };

/** Options of one test's operator. */
export interface Particular {
  /** Variables besides those of the test, e.g. `POD_NAMESPACE`, the operator's own namespace. */
  env?: Record<string, string>;
  /** Kubeconfig of an account that the test has made. Absent: that of the chart's installation for these namespaces. */
  kubeconfig?: string;
}

/**
 * Starts the operator on this machine, for some namespaces, so that suites do not interfere. It has exactly the chart's
 * rights there; the chart's suites test it as a pod. An operator that watches one namespace needs no Lease.
 */
export async function startOperator(
  cluster: Cluster,
  namespaces: readonly string[],
  flags: readonly string[] = [],
  { env = {}, kubeconfig }: Particular = {},
): Promise<Program> {
  const folder = mkdtempSync(join(tmpdir(), 'vmcp-operator-'));
  const file = kubeconfig ?? (await giveRights(cluster, namespaces, flags, join(folder, 'kubeconfig')));
  const own = ['--no-leader-election', `--runtime-image=${IMAGES.runtime}`];
  const operator = start('operator', namespaces, [...own, ...flags], { kubeconfig: file, env });
  void operator.ended.then(() => rmSync(folder, { recursive: true, force: true }));
  return operator;
}

/** Starts the management API on this machine, for some namespaces of a cluster. */
export function startManagement(
  namespaces: readonly string[],
  flags: readonly string[],
  particular: Required<Particular>,
): Program {
  return start('management', namespaces, flags, particular);
}

function start(
  name: 'operator' | 'management',
  namespaces: readonly string[],
  flags: readonly string[],
  { kubeconfig, env }: Required<Particular>,
): Program {
  const built = join(ROOT, `dist/${name}.js`);
  const program = existsSync(built) ? built : join(ROOT, `${name}/main.ts`);
  const own = ['--bind-address=127.0.0.1', '--health-port=0', '--metrics-port=0'];
  const args = [program, `--kubeconfig=${kubeconfig}`, ...own, `--watch-namespace=${namespaces.join(',')}`, ...flags];
  return startProgram(process.execPath, args, { ...process.env, ...env });
}

/**
 * Applies the chart's account and roles, which the deletion of the namespaces removes. Returns the path of their
 * kubeconfig.
 */
async function giveRights(
  cluster: Cluster,
  namespaces: readonly string[],
  flags: readonly string[],
  file: string,
): Promise<string> {
  const [namespace = ''] = namespaces;
  const attach = `--set=stdio.attach=${flags.includes(ATTACH)}`;
  const values = [NAMESPACED, `--set=watchNamespaces={${namespaces.join(',')}}`, attach];
  await applyRoles(cluster, OPERATOR_ACCOUNT, namespace, values);
  return kubeconfigOf(cluster, { namespace, name: OPERATOR_ACCOUNT }, file);
}
