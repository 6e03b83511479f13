import { RequestError } from '#runtime/errors';
import type { Log } from '#runtime/telemetry/log';
import { OAuthError } from './errors.ts';
import { jsonAnswer, type Answer, type RequestFacts } from './handler.ts';
import { PageError, type ErrorPage } from './page-error.ts';
import { StorageUnavailable } from './storage/storage.ts';

export interface FailureSettings {
  /** Audience of the endpoint: `json` for clients, `page` for people in a browser. */
  readonly kind: 'json' | 'page';
  readonly renderErrorPage: (page: ErrorPage) => Answer;
  readonly log: Log;
}

/** Seconds that `Retry-After` tells the client to wait. */
const RETRY_AFTER = '5';
const PAGE_TITLE: Readonly<Record<number, string>> = {
  404: 'There is nothing here',
  413: 'The request is too large',
  429: 'Too many requests',
  500: 'Something went wrong',
  503: 'Not available at the moment',
};

/** Converts an error of an endpoint into its answer (RFC 6749 §5.2). The cause is logged and never sent. */
export function answerFailure(
  error: unknown,
  facts: Pick<RequestFacts, 'path' | 'headers'>,
  to: FailureSettings,
): Answer {
  const failure = describe(error);
  noteFailure(error, failure.status, facts.path, to.log);
  if (to.kind === 'page') return to.renderErrorPage(pageOf(error, failure));
  const body = { error: failure.code, error_description: failure.text };
  return jsonAnswer(body, failure.status, { ...failure.headers, ...challenge(failure, facts) });
}

/** Logs 503 as a warning, because it is temporary. Client errors (below 500) are not logged. */
function noteFailure(error: unknown, status: number, path: string, log: Log): void {
  if (status < 500) return;
  const reason = reasonOf(error);
  if (status === 503) log.warn('not available', { path, reason: reason instanceof Error ? reason.message : '' });
  else log.error('the authorization server failed', { path, error: reason });
}

interface Failure {
  readonly status: number;
  readonly code: string;
  readonly text: string;
  readonly headers: Readonly<Record<string, string>>;
}

function describe(error: unknown): Failure {
  if (error instanceof OAuthError) {
    const { status, code, message: text } = error;
    return { status, code, text, headers: status === 503 ? { 'Retry-After': RETRY_AFTER } : {} };
  }
  if (error instanceof PageError) {
    return { status: error.page.status, code: 'invalid_request', text: error.page.text, headers: {} };
  }
  if (error instanceof RequestError) return describeRequestError(error);
  if (error instanceof StorageUnavailable) {
    const text = 'The authorization server cannot reach its storage; try again in a moment';
    return { status: 503, code: 'temporarily_unavailable', text, headers: { 'Retry-After': RETRY_AFTER } };
  }
  return { status: 500, code: 'server_error', text: 'The authorization server failed', headers: {} };
}

function describeRequestError({ answer }: RequestError): Failure {
  const { status, text, headers = {} } = answer;
  // The server does not read the rest of a body that is too large.
  if (status === 413) return { status, code: 'invalid_request', text, headers: { ...headers, Connection: 'close' } };
  const code = status === 503 ? 'temporarily_unavailable' : status >= 500 ? 'server_error' : 'invalid_request';
  return { status, code, text, headers };
}

/** RFC 6749 §5.2: the answer names the expected scheme to a client that sent an Authorization header. */
function challenge({ status }: Failure, { headers }: Pick<RequestFacts, 'headers'>): Record<string, string> {
  if (status !== 401 || headers.authorization === undefined) return {};
  return { 'WWW-Authenticate': 'Basic realm="authorization server"' };
}

function pageOf(error: unknown, { status, text }: Failure): ErrorPage {
  if (error instanceof PageError) return error.page;
  return { status, title: PAGE_TITLE[status] ?? 'This cannot go on', text };
}

function reasonOf(error: unknown): unknown {
  return error instanceof Error && error.cause !== undefined ? error.cause : error;
}
