import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { IMAGES, REGISTRY, TAG } from './images.ts';
import { type Finished, runProgram } from './run-program.ts';
import type { Cluster } from './use-cluster.ts';

/** The chart of this repository. */
export const CHART = join(import.meta.dirname, '../../charts/vmcp');

/** The flag for an installation for some namespaces, without cluster-wide objects; `watchNamespaces` names them. */
export const NAMESPACED = `--values=${join(CHART, 'values-namespaced.yaml')}`;

/** Longer than `--wait` of helm, so that helm can report which object it waited for. */
const DEADLINE_MS = 240_000;

/** Returns an API group that no other suite uses, for separate definitions, roles and policies. */
export function ownGroup(suite: string): string {
  return `${suite}-${randomBytes(3).toString('hex')}.test`;
}

/** Values that select the images of the tests. */
export const TEST_IMAGES = [
  `--set=global.imageRegistry=${REGISTRY}`,
  `--set=image.tag=${TAG}`,
  `--set=runtime.image.tag=${TAG}`,
  `--set=demo.image.repository=${IMAGES.backends.replace(`${REGISTRY}/`, '').replace(`:${TAG}`, '')}`,
  `--set=demo.image.tag=${TAG}`,
];

/** Runs helm on the cluster. */
export function helm(cluster: Cluster, args: readonly string[]): Promise<Finished> {
  return runProgram('helm', args, {
    deadline: DEADLINE_MS,
    env: { KUBECONFIG: cluster.kubeconfig, HELM_KUBEINSECURE_SKIP_TLS_VERIFY: 'false' },
  });
}

/** Renders the chart with values, as one text. */
export async function renderChart(args: readonly string[], release = 'vmcp'): Promise<string> {
  const { code, stdout, stderr } = await runProgram('helm', ['template', release, CHART, ...args], {
    deadline: DEADLINE_MS,
  });
  if (code !== 0) throw new Error(`helm template: ${stderr}`);
  return stdout;
}
