import { Stalled, Waiting } from '#operator/errors';
import { ApiError, isStatus } from '../api/api-error.ts';

/** Until a refusal that others can mend is tried again. Milliseconds. */
const TRY_AGAIN = 30_000;

/** A child's pods are written by people in one field alone. */
const TEMPLATE = 'spec.template.';

/** Names each field that a strict reading of a child does not know; undefined for another refusal. */
function explainUnknownFields({ status, message }: ApiError, what: string): Stalled | undefined {
  const fields = [...message.matchAll(/unknown field "([^"]+)"/g)].map(([, field = '']) => field);
  if (status !== 400 || fields.length === 0) return undefined;
  const written = fields.every((field) => field.startsWith(TEMPLATE));
  const list = fields.map((field) => field.replace(TEMPLATE, 'podTemplateSpec.')).join(', ');
  const text = `the API server knows no such fields of ${what}: ${list}: correct or remove them`;
  return new Stalled(written ? 'InvalidPodTemplate' : 'ChildRefused', text);
}

/**
 * Whether the API server could not even read what was applied, which it answers by 500: a field that it does not know, or one
 * of another type. It names only some of them then.
 */
export function isUnreadable(problem: unknown): boolean {
  return isStatus(problem, 500) && problem.message.includes('failed to create typed patch object');
}

/** An API server without causes, and an admission plugin, say it in the message alone. */
const isTerminating = ({ causes, message }: ApiError) =>
  causes.some(({ reason }) => reason === 'NamespaceTerminating') || /\bis being (terminated|deleted)\b/.test(message);

/**
 * What a refused write of a child means for its owner: one that is not valid can only be mended by whoever wrote the owner,
 * one that is forbidden by an administrator. Anything else is thrown as it is, and tried again.
 */
export function explainRefusal(problem: unknown, what: string): unknown {
  if (!(problem instanceof ApiError)) return problem;
  const unknown = explainUnknownFields(problem, what);
  if (unknown) return unknown;
  if (problem.status === 422 || problem.status === 400 || isUnreadable(problem)) {
    const message = `the API server refuses ${what}: ${problem.message}: mend what the resource says of it`;
    return new Stalled('ChildRefused', message, { cause: problem });
  }
  if (problem.status !== 403) return problem;
  if (isTerminating(problem)) {
    return new Waiting('NamespaceTerminating', 'the namespace, or what it belongs to, is being deleted', {
      cause: problem,
    });
  }
  const message = `the API server forbids ${what}: ${problem.message}: mend the quota, the policy or the operator's role`;
  return new Waiting('ChildForbidden', message, { cause: problem, retryIn: TRY_AGAIN });
}
