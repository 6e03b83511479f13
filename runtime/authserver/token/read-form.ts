import { OAuthError } from '../errors.ts';
import type { RequestFacts } from '../handler.ts';

/** RFC 8707 §2 allows a repeated `resource`. Each grant checks the values. */
const REPEATABLE = 'resource';
const MAX_PARAMETERS = 64;

/** Returns the parameters of a request without empty ones (RFC 6749 §3.2). @throws OAuthError `invalid_request` for a repeated one */
export function readForm({ form }: Pick<RequestFacts, 'form'>): ReadonlyMap<string, string> {
  const parameters = new Map<string, string>();
  for (const [name, value] of form) {
    if (name !== REPEATABLE && parameters.has(name)) {
      throw new OAuthError('invalid_request', 'A parameter stands in the request more than once');
    }
    if (parameters.size >= MAX_PARAMETERS) throw new OAuthError('invalid_request', 'There are too many parameters');
    parameters.set(name, value);
  }
  for (const [name, value] of parameters) if (value === '') parameters.delete(name);
  return parameters;
}

/** Returns a parameter. @throws OAuthError `invalid_request` when it is missing */
export function required(parameters: ReadonlyMap<string, string>, name: string): string {
  const value = parameters.get(name);
  if (value === undefined) throw new OAuthError('invalid_request', `The parameter ${name} is missing`);
  return value;
}
