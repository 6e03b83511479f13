import { type PublicAnswer, RequestError } from '#runtime/errors';
import type { Decision } from '#runtime/policy/authorizer';
import type { ListKind } from '../aggregate/list-kinds.ts';
import type { Era } from '../era.ts';

const INVALID_PARAMS = -32602;
const RESOURCE_NOT_FOUND = -32002;
const METHOD_NOT_FOUND = -32601;
const INVALID_REQUEST = -32600;
const DENIED = 403;

const nouns: Record<ListKind, string> = {
  tools: 'tool',
  prompts: 'prompt',
  resources: 'resource',
  templates: 'resource',
};

/** Backend of a hidden entry and the decision that hides it, for the audit log only. */
export interface HiddenEntry {
  readonly backend: string;
  /** Undefined: no policy hides the entry. */
  readonly decision: Decision | undefined;
}

/** The answer about a hidden entry, which is the same as about a missing one. */
export class HiddenName extends RequestError {
  readonly hidden: HiddenEntry;
  constructor(hidden: HiddenEntry, answer: PublicAnswer) {
    super(answer);
    this.hidden = hidden;
  }
}

/** Does not distinguish missing from hidden entries, for secrecy. The code depends on the revision. */
export function unknownName(kind: ListKind, era: Era, name: string, hidden?: HiddenEntry): RequestError {
  const isResource = kind === 'resources' || kind === 'templates';
  const code = isResource && era === 'legacy' ? RESOURCE_NOT_FOUND : INVALID_PARAMS;
  const answer: PublicAnswer = {
    status: 200,
    code: 'unknown_name',
    text: `Unknown ${nouns[kind]}`,
    rpc: isResource ? { code, data: { uri: name } } : { code },
  };
  return hidden ? new HiddenName(hidden, answer) : new RequestError(answer);
}

export function ambiguousName(names: readonly string[]): RequestError {
  const text = `Several tools have this name; call ${names.join(' or ')}`;
  return new RequestError({ status: 200, code: 'ambiguous_name', text, rpc: { code: INVALID_PARAMS } });
}

/** Many clients show only the message. The text comes from the administrator's annotations. */
function reasonOf(policy: Decision['policies'][number] | undefined): string {
  if (!policy) return 'Denied: no policy permits this call';
  return policy.advice === undefined
    ? `Denied by policy ${policy.id}`
    : `Denied by policy ${policy.id}: ${policy.advice}`;
}

/** `data` holds the annotations of the deciding policies, with the first one separate. */
export function deniedByPolicy(decision: Decision): RequestError {
  const [first] = decision.policies;
  return new RequestError({
    status: 200,
    code: 'denied_by_policy',
    text: reasonOf(first),
    rpc: { code: DENIED, data: { policy: first ?? null, policies: decision.policies } },
  });
}

export function invalidParams(text: string, status = 200): RequestError {
  return new RequestError({ status, code: 'invalid_params', text, rpc: { code: INVALID_PARAMS } });
}

export function methodNotFound(era: Era): RequestError {
  return new RequestError({
    status: era === 'modern' ? 404 : 200,
    code: 'method_not_found',
    text: 'Method not found',
    rpc: { code: METHOD_NOT_FOUND },
  });
}

export function invalidRequest(status: number, code: string, text: string): RequestError {
  return new RequestError({ status, code, text, rpc: { code: INVALID_REQUEST } });
}
