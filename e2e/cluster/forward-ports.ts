import { type Program, startProgram } from '../gateway/start-program.ts';
import { until } from './kit/processes.ts';
import type { Cluster } from './use-cluster.ts';

const START_SECONDS = 20;

/**
 * Runs `kubectl port-forward` from ports of this machine to a pod, or to a pod behind a Service. @param target e.g.
 * `service/vmcp-demo` @param ports port of this machine to port of the target
 */
export async function forwardPorts(
  { kubeconfig }: Cluster,
  namespace: string,
  target: string,
  ports: Readonly<Record<number, number>>,
): Promise<Program> {
  const pairs = Object.entries(ports).map(([here, there]) => `${here}:${there}`);
  const program = startProgram('kubectl', [
    '--kubeconfig',
    kubeconfig,
    '-n',
    namespace,
    'port-forward',
    target,
    ...pairs,
  ]);
  return untilForwarded(program, target, pairs.length);
}

/** Waits until a `kubectl port-forward` has opened so many ports, and ends it if it fails. */
export async function untilForwarded(program: Program, target: string, ports: number): Promise<Program> {
  try {
    await until(`a port-forward to ${target}`, START_SECONDS, () => {
      if (program.exited()) throw new Error(program.output());
      const open = [...program.output().matchAll(/^Forwarding from 127\.0\.0\.1:/gm)].length;
      return Promise.resolve(open === ports);
    });
    return program;
  } catch (problem) {
    await program.stop();
    throw new Error(`kubectl port-forward ${target}: ${program.output()}`, { cause: problem });
  }
}
