import type { Dispatcher } from 'undici';
import { isLoopbackHost } from '#crds/parts/private-address';
import { basicCredentials } from '#runtime/http/basic-credentials';
import { AnswerTooLarge } from '#runtime/http/read-answer';
import type { CredentialDeps } from './credential-deps.ts';
import { exchangeError, type ExchangeErrorCode } from './exchange-error.ts';
import { DeadlineExceeded, type FormAnswer, postForm } from './post-form.ts';

const MAX_ANSWER = 64 * 1024;

/** How requests for one backend's tokens are sent. */
export interface TokenRequester {
  readonly backend: string;
  /** Returns the content of a configured file. Undefined: no file is configured. */
  readonly secretOf: (file: string | undefined) => string | undefined;
  readonly dispatcher: Dispatcher;
  /** Milliseconds for the whole answer. */
  readonly deadline: number;
  readonly now: () => number;
}

interface TokenRequest {
  readonly url: string;
  readonly form: URLSearchParams;
  readonly clientId: string | undefined;
  readonly clientSecret: string | undefined;
  /** Sends the secret in the body if the endpoint refuses Basic credentials, as some accept one way only. */
  readonly triesBody?: boolean;
  /** The form holds an assertion that the endpoint accepts once, so it is never sent again. */
  readonly isSingleUse?: boolean;
}

/** Posts a token request (RFC 6749 §3.2). @throws RequestError if the endpoint does not answer in time and in size */
export async function askTokenEndpoint(request: TokenRequest, requester: TokenRequester): Promise<FormAnswer> {
  const { form, clientId, clientSecret, triesBody = false } = request;
  if (clientId === undefined || clientSecret === undefined) {
    // RFC 6749 §3.2.1: a public client names itself in the body.
    if (clientId !== undefined) form.set('client_id', clientId);
    return post(request, {}, requester);
  }
  const answer = await post(request, { authorization: basicCredentials(clientId, clientSecret) }, requester);
  if (!triesBody || (answer.status !== 401 && !answer.body.includes('"invalid_client"'))) return answer;
  form.set('client_id', clientId);
  form.set('client_secret', clientSecret);
  return post(request, {}, requester);
}

async function post(
  { url, form, isSingleUse = false }: TokenRequest,
  headers: Readonly<Record<string, string>>,
  { backend, dispatcher, deadline }: TokenRequester,
): Promise<FormAnswer> {
  try {
    return await postForm(url, form, { dispatcher, headers, deadline, maxBytes: MAX_ANSWER, isSingleUse });
  } catch (cause) {
    throw exchangeError(codeOf(cause), backend, cause);
  }
}

function codeOf(cause: unknown): ExchangeErrorCode {
  if (cause instanceof DeadlineExceeded) return 'token_exchange_timeout';
  return cause instanceof AnswerTooLarge ? 'token_exchange_invalid' : 'token_exchange_unavailable';
}

export function warnOfPlainHttp(url: string, { backend, log }: CredentialDeps): void {
  const { protocol, hostname } = new URL(url);
  if (protocol !== 'http:' || isLoopbackHost(hostname)) return;
  log.warn('token exchange without TLS: tokens and secrets cross the network in clear text', { backend });
}
