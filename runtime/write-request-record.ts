import { RequestError, type PublicAnswer } from '#runtime/errors';
import type { AnswerKind } from '#runtime/mcp/envelope/decode-backend-message';
import type { DecodedMessage } from '#runtime/mcp/envelope/decode-request';
import type { Era } from '#runtime/mcp/era';
import { HiddenName } from '#runtime/mcp/route/refusals';
import { RateLimited } from '#runtime/rate-limits/refusals';
import type { Outcome, RequestRecord } from '#runtime/request-record';

export function noteMessage(requestRecord: RequestRecord, message: DecodedMessage, era: Era): void {
  requestRecord.era = era;
  if (message.kind === 'response') {
    requestRecord.method = 'response';
    return;
  }
  requestRecord.method = message.method;
  requestRecord.params = message.params;
  if (message.kind === 'request') requestRecord.rpcId = message.idText;
}

const DENIED: ReadonlySet<string> = new Set([
  'denied_by_policy',
  'denied_by_webhook',
  'rate_limited',
  'too_many_sessions',
  'unknown_name',
  'insufficient_scope',
  'invalid_token',
]);

export function noteAnswer(requestRecord: RequestRecord, answer: PublicAnswer, error: unknown): void {
  requestRecord.status = answer.status;
  requestRecord.code = answer.code;
  requestRecord.outcome = outcomeOf(answer, error);
  if (error instanceof RateLimited) requestRecord.limit = error.scope;
  if (error instanceof HiddenName) {
    requestRecord.backend = error.hidden.backend;
    requestRecord.decision = error.hidden.decision;
  }
}

/** Records the backend's answer: a JSON-RPC error is a failure, and a tool result with `isError` has its own outcome. */
export function noteAnswered(requestRecord: RequestRecord, kind: AnswerKind): void {
  if (kind === 'error') {
    requestRecord.outcome = 'failure';
    requestRecord.code = 'rpc_error';
  } else if (kind === 'tool_error' && requestRecord.method === 'tools/call') {
    requestRecord.outcome = 'tool_error';
  }
}

export function noteCancelled(requestRecord: RequestRecord): void {
  requestRecord.outcome = 'failure';
  requestRecord.code = 'cancelled';
}

/** The call was not made, and may be retried soon. */
const NOT_MADE: ReadonlySet<string> = new Set(['backend_restarting', 'backend_state_lost']);
const FAILED = /^(backend|token_exchange|upstream|aws|webhook)_/;

function outcomeOf({ code, status }: PublicAnswer, error: unknown): Outcome {
  if (!(error instanceof RequestError)) return 'error';
  if (DENIED.has(code) || status === 401 || status === 403) return 'denied';
  if (NOT_MADE.has(code)) return 'failure';
  return status >= 500 || FAILED.test(code) ? 'error' : 'failure';
}
