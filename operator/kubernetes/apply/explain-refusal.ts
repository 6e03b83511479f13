import { Stalled, Waiting } from '#operator/errors';
import { ApiError, isStatus } from '../api/api-error.ts';

/** Milliseconds between attempts after a refusal that others can fix. */
const TRY_AGAIN = 30_000;

/** The only part of a child's pods that users write. */
const TEMPLATE = 'spec.template.';

function explainUnknownFields({ status, message }: ApiError, what: string): Stalled | undefined {
  const fields = [...message.matchAll(/unknown field "([^"]+)"/g)].map(([, field = '']) => field);
  if (status !== 400 || fields.length === 0) return undefined;
  const written = fields.every((field) => field.startsWith(TEMPLATE));
  const list = fields.map((field) => field.replace(TEMPLATE, 'podTemplateSpec.')).join(', ');
  const text = `the API server knows no such fields of ${what}: ${list}: correct or remove them`;
  return new Stalled(written ? 'InvalidPodTemplate' : 'ChildRefused', text);
}

/** Returns whether a field is unknown or has a wrong type. The API server answers 500 and then lists only some of the fields. */
export function isUnreadable(problem: unknown): boolean {
  return isStatus(problem, 500) && problem.message.includes('failed to create typed patch object');
}

/** API servers without causes and admission plugins report it only in the message. */
const isTerminating = ({ causes, message }: ApiError) =>
  causes.some(({ reason }) => reason === 'NamespaceTerminating') || /\bis being (terminated|deleted)\b/.test(message);

/** Attributes a refused write to the owner's writer (invalid) or an administrator (forbidden). @throws any other problem, for a retry */
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
