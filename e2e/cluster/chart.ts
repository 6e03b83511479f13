import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { IMAGES, REGISTRY, TAG } from './images.ts';
import { type Finished, runProgram } from './run-program.ts';
import type { Cluster } from './use-cluster.ts';

/** The chart of this repository. */
export const CHART = join(import.meta.dirname, '../../charts/vmcp');

/** The flag for an installation for some namespaces, which makes nothing cluster-wide; `watchNamespaces` names them. */
export const NAMESPACED = `--values=${join(CHART, 'values-namespaced.yaml')}`;

/** Longer than `--wait` of helm, which says what it waited for. */
const DEADLINE_MS = 240_000;

/** An API group that nobody else has: definitions, roles and policies of a suite are its own. */
export function ownGroup(suite: string): string {
  return `${suite}-${randomBytes(3).toString('hex')}.test`;
}

/** Values by which pods run the images of the tests. */
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

/** What the chart makes of values, as one text. */
export async function renderChart(args: readonly string[], release = 'vmcp'): Promise<string> {
  const { code, stdout, stderr } = await runProgram('helm', ['template', release, CHART, ...args], {
    deadline: DEADLINE_MS,
  });
  if (code !== 0) throw new Error(`helm template: ${stderr}`);
  return stdout;
}
