import { ApiError } from '#operator/kubernetes/api/api-error';
import { Problem } from '../problem.ts';

export function problemOfApi(problem: unknown): unknown {
  if (!(problem instanceof ApiError)) return problem;
  const { status, message, retryAfter } = problem;
  if (status === 403) return new Problem('forbidden', message, { cause: problem });
  if (status === 413) return new Problem('too_large', message, { cause: problem });
  if (status === 400 || status === 422) return new Problem('bad_request', message, { cause: problem });
  if (!problem.retryHelps) return new Problem('internal', message, { cause: problem });
  const headers = retryAfter === undefined ? {} : { 'Retry-After': String(Math.ceil(retryAfter / 1000)) };
  return new Problem('unavailable', message, { cause: problem, headers });
}
