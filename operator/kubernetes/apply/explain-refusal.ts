import { Stalled, Waiting } from '#operator/errors';
import { ApiError } from '../api/api-error.ts';

/** Until a refusal that others can mend is tried again. Milliseconds. */
const TRY_AGAIN = 30_000;

const isTerminating = ({ causes }: ApiError) => causes.some(({ reason }) => reason === 'NamespaceTerminating');

/**
 * What a refused write of a child means for its owner: one that is not valid can only be mended by whoever wrote the owner,
 * one that is forbidden by an administrator. Anything else is thrown as it is, and tried again.
 */
export function explainRefusal(problem: unknown, what: string): unknown {
  if (!(problem instanceof ApiError)) return problem;
  if (problem.status === 422 || problem.status === 400) {
    const message = `the API server refuses ${what}: ${problem.message}: mend what the resource says of it`;
    return new Stalled('ChildRefused', message, { cause: problem });
  }
  if (problem.status !== 403) return problem;
  if (isTerminating(problem)) {
    return new Waiting('NamespaceTerminating', 'the namespace is being deleted', { cause: problem });
  }
  const message = `the API server forbids ${what}: ${problem.message}: mend the quota, the policy or the operator's role`;
  return new Waiting('ChildForbidden', message, { cause: problem, retryIn: TRY_AGAIN });
}
