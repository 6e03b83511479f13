import { ApiError, isStatus } from '#operator/kubernetes/api/api-error';
import { connect, type Connection, loadKubeConfig } from '#operator/kubernetes/api/connection';
import { CliError, EXIT_CODES } from '../exit-codes.ts';
import type { TargetOptions } from './target.ts';

/** Opens nothing. @throws CliError when the kubeconfig is unusable */
export function connectCluster(options: Pick<TargetOptions, 'kubeconfig' | 'context'>): Connection {
  try {
    return connect(loadKubeConfig(options));
  } catch (cause) {
    throw new CliError(EXIT_CODES.input, cause instanceof Error ? cause.message : String(cause), { cause });
  }
}

interface Asked {
  server: string;
  namespace: string;
}

export const rightsRemedy = ({ namespace }: Pick<Asked, 'namespace'>): string =>
  `"kubectl auth can-i --list -n ${namespace}" says what this account may do; an administrator gives it more, e.g. by the role edit`;

/** Returns undefined for other problems. */
export function explainAway(problem: unknown, { server }: Pick<Asked, 'server'>): CliError | undefined {
  if (!(problem instanceof ApiError) || problem.status !== 0) return undefined;
  const remedy = 'see whether it runs and can be reached from here, or name another context with --context';
  return new CliError(EXIT_CODES.notRunning, `${server} does not answer: ${remedy} (${problem.message})`, {
    cause: problem,
  });
}

/** Explains missing permissions, too. Returns other problems unchanged. */
export function explainFailure(problem: unknown, asked: Asked): unknown {
  if (!isStatus(problem, 403)) return explainAway(problem, asked) ?? problem;
  return new CliError(EXIT_CODES.forbidden, `${problem.message}\n${rightsRemedy(asked)}`, { cause: problem });
}
