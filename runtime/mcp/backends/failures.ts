import { RequestError } from '#runtime/errors';

/** The label of metrics, `data.reason` for the client, and `backend_<reason>` in audit lines. */
export type FailureReason =
  | 'unavailable'
  | 'refused'
  | 'connect_timeout'
  | 'reset'
  | 'http_error'
  | 'breaker_open'
  | 'restarting'
  | 'ended'
  | 'timeout'
  | 'protocol'
  | 'session_lost'
  | 'state_lost'
  | 'unauthorized'
  | 'credential'
  | 'out_of_service'
  | 'busy'
  | 'too_large'
  | 'aborted';

export interface CallFailure {
  readonly reason: FailureReason;
  /** The backend may have begun to act on the request. */
  readonly sent: boolean;
  readonly error: RequestError;
  /** HTTP status with which the backend refused the request. */
  readonly status?: number;
}

const INTERNAL_ERROR = -32603;

/** The message is in the gateway's own words, so the status may show it. */
export class NotStarted extends Error {
  override readonly name = 'NotStarted';
}

/** The process answered `initialize` with an error. */
export class RefusedInitialize extends NotStarted {
  constructor() {
    super('refused initialize');
  }
}

/** The process may still prepare itself, such as npx that downloads a program. */
export class StillStarting extends NotStarted {
  constructor() {
    super('is starting');
  }
}

/** Thrown if the process served, ended, and does not serve again yet. */
export class Restarting extends NotStarted {
  constructor(end: string) {
    super(`${end}, and is started again`);
  }
}

/** The message is in the gateway's own words, so the status may show it. */
export class NotOpened extends Error {
  override readonly name = 'NotOpened';
}

/** The backend has not listed yet. The gateway sent nothing. */
export class NotListed extends Error {
  override readonly name = 'NotListed';
}

/** Texts follow the name of the backend, and are fixed so that no text of a backend passes through. */
const texts: Record<FailureReason, string> = {
  unavailable: 'cannot be reached; try again later',
  refused: 'cannot be reached: it takes no connection; try again later',
  connect_timeout: 'cannot be reached: it did not take the connection in time; try again later',
  reset: 'closed the connection before it answered; it may have acted on the request',
  http_error: 'answered with an HTTP error; try again later',
  breaker_open: 'has failed several times in a row and is not called for a while; try again later',
  restarting: 'is restarting; try again in a moment',
  ended: 'ended while it worked on the request; it may have acted on it',
  timeout: 'did not answer in time; it may still be working on the request',
  protocol: 'gave an answer that is not valid MCP',
  session_lost: 'no longer knows this session; try again',
  state_lost: 'lost the state of this session when its process ended; call again to begin anew',
  unauthorized: 'refused the credential of this gateway; ask the administrator to check its authentication',
  credential: 'cannot be called: its credential is not to be had',
  out_of_service: 'is out of service: its configuration cannot be used; ask the administrator',
  busy: 'has too many calls in flight; try again in a moment',
  too_large: 'sent an answer above the size limit of this gateway',
  aborted: 'was not waited for any longer',
};

const STARTING = 'is starting; try again in a moment';
const NOT_LISTED = 'did not list what it has in time; try again in a moment';

function textOf(reason: FailureReason, cause: unknown): string {
  if (cause instanceof StillStarting) return STARTING;
  return cause instanceof NotListed ? NOT_LISTED : texts[reason];
}

/** HTTP 200, because some clients hang on an HTTP error to a POST. `sent`: the backend may have begun to act. */
export function callFailure(backend: string, reason: FailureReason, sent: boolean, cause?: unknown): CallFailure {
  const error = new RequestError(
    {
      status: 200,
      code: `backend_${reason}`,
      text: `backend ${backend} ${textOf(reason, cause)}`,
      rpc: { code: INTERNAL_ERROR, data: { backend, reason } },
    },
    { cause },
  );
  return { reason, sent, error };
}

function connectionReason(sent: boolean, cause: unknown): FailureReason {
  const name = cause instanceof Error ? cause.name : '';
  if (name === 'ConnectTimeoutError') return 'connect_timeout';
  if (name === 'HTTPParserError') return 'protocol';
  // The first connection broke after sending, and the second was refused.
  const isConnect = cause instanceof Error && 'syscall' in cause && cause.syscall === 'connect';
  return sent && !isConnect ? 'reset' : 'refused';
}

export function connectionFailure(backend: string, sent: boolean, cause: unknown): CallFailure {
  return callFailure(backend, connectionReason(sent, cause), sent, cause);
}

const NO_CONNECTION: ReadonlySet<FailureReason> = new Set([
  ...(['unavailable', 'refused', 'connect_timeout', 'reset', 'http_error', 'restarting', 'ended'] as const),
]);

/** A probe is worthwhile: the backend may be unreachable or soon reachable again. */
export function mayBeAway({ reason }: CallFailure): boolean {
  return NO_CONNECTION.has(reason);
}
