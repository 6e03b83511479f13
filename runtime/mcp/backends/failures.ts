import { RequestError } from '#runtime/errors';
import type { CallFailure } from './backend.ts';

const INTERNAL_ERROR = -32603;

/** Why a process does not serve. The message is in words of this program, so status may show it. */
export class NotStarted extends Error {
  override readonly name = 'NotStarted';
}

/** It was started, and nothing has been heard of it yet: npx, for example, may be fetching a program. */
export class StillStarting extends NotStarted {
  constructor() {
    super('is starting');
  }
}

/** Why a stream of events does not serve. The message is in words of this program, so status may show it. */
export class NotOpened extends Error {
  override readonly name = 'NotOpened';
}

type Reason = CallFailure['reason'];

/** What the client reads, after the name of the backend. Fixed words: nothing that a backend said goes through. */
const texts: Record<Reason, string> = {
  unavailable: 'cannot be reached; try again later',
  timeout: 'did not answer in time; it may still be working on the request',
  protocol: 'gave an answer that is not valid MCP',
  session_lost: 'no longer knows this session; try again',
  unauthorized: 'refused the credential of this gateway; ask the administrator to check its authentication',
  credential: 'cannot be called: its credential is not to be had',
  busy: 'has too many calls under way; try again in a moment',
  too_large: 'sent an answer above the size limit of this gateway',
  aborted: 'was not waited for any longer',
};

const STARTING = 'is starting; try again in a moment';

/**
 * A call that its backend did not answer, as clients see it: a JSON-RPC error at HTTP 200, as some clients hang on an HTTP
 * error to a POST. `sent`: the backend may have begun to act on it.
 */
export function callFailure(backend: string, reason: Reason, sent: boolean, cause?: unknown): CallFailure {
  const error = new RequestError(
    {
      status: 200,
      code: `backend_${reason}`,
      text: `backend ${backend} ${cause instanceof StillStarting ? STARTING : texts[reason]}`,
      rpc: { code: INTERNAL_ERROR, data: { backend, reason } },
    },
    { cause },
  );
  return { reason, sent, error };
}
