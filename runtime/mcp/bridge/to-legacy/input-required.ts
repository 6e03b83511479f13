import type { QuotaExceeded } from '#lib/limits/quota';
import { RequestError } from '#runtime/errors';
import { callFailure, type CallFailure } from '#runtime/mcp/backends/failures';
import { isJsonObject, type JsonObject } from '#runtime/mcp/envelope/decode-request';
import type { Outcome } from './pending-request.ts';
import { INTERNAL_ERROR, INVALID_PARAMS, renderError } from './to-modern-answer.ts';

const URL_ELICITATION_REQUIRED = -32042;

export function inputRequired(inputRequests: JsonObject, requestState: string): Outcome {
  return { render: (idText) => renderResult(idText, { resultType: 'input_required', inputRequests, requestState }) };
}

function renderResult(idText: string, result: JsonObject) {
  const body = Buffer.from(`{"jsonrpc":"2.0","id":${idText},"result":${JSON.stringify(result)}}`);
  return { status: 200, body, kind: 'result' } as const;
}

function refused(code: number, message: string, reason: string): Outcome {
  return { render: (idText) => renderError(idText, { code, message, data: { reason } }) };
}

export const invalidState = refused(INVALID_PARAMS, 'requestState is invalid or expired', 'invalid_request_state');

export const invalidResponses = refused(INVALID_PARAMS, 'inputResponses must be an object', 'invalid_input_responses');

export const callLost = refused(
  INTERNAL_ERROR,
  'The call that waited for this input is gone; the backend may have executed it in part',
  'call_lost',
);

export const noInputInTime = refused(
  INTERNAL_ERROR,
  'No input came in time, so the call was cancelled',
  'input_timeout',
);

export const tooManyRounds = refused(
  INTERNAL_ERROR,
  'The backend asked for input too often, so the call was cancelled',
  'too_many_rounds',
);

export const retryTooLarge = refused(
  INVALID_PARAMS,
  'A retry that another replica continues has at most 4 MiB',
  'retry_too_large',
);

/** The user did not open the link of a call that needed it. Only a tool has a result for that. */
export function linkNotOpened(method: string): Outcome {
  const text = 'The user did not open the link';
  if (method !== 'tools/call') return refused(INTERNAL_ERROR, text, 'link_not_opened');
  const result = { resultType: 'complete', content: [{ type: 'text', text }], isError: true };
  return { render: (idText) => renderResult(idText, result) };
}

export function tooManyParked(backend: string, { limit, held }: QuotaExceeded): CallFailure {
  const text =
    limit === 'total'
      ? `${held} calls of all callers wait for input, the most that this replica keeps: try again later`
      : `${held} calls of this caller wait for input, the most at once: answer or cancel some of them first`;
  const rpc = { code: INTERNAL_ERROR, data: { backend, reason: 'too_many_waiting' } };
  const error = new RequestError({ status: 200, code: 'too_many_waiting', text, rpc });
  return { ...callFailure(backend, 'busy', true), error };
}

/** Returns the requests that open the URLs of such an error. Undefined: it is another answer. */
export function urlRequests(body: Buffer): JsonObject | undefined {
  const { error } = JSON.parse(body.toString('utf8')) as { error?: unknown };
  if (!isJsonObject(error) || error.code !== URL_ELICITATION_REQUIRED || !isJsonObject(error.data)) return undefined;
  const { elicitations } = error.data;
  if (!Array.isArray(elicitations) || elicitations.length === 0 || !elicitations.every(isJsonObject)) return undefined;
  return Object.fromEntries(
    elicitations.map(({ message, url }, index) => [
      `url-${index + 1}`,
      { method: 'elicitation/create', params: { mode: 'url', message, url } },
    ]),
  );
}
