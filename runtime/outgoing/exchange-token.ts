import type { Dispatcher } from 'undici';
import type { TokenExchange } from '#crds/run-config/outgoing';
import { basicCredentials } from '#runtime/http/basic-credentials';
import { AnswerTooLarge } from '#runtime/http/read-answer';
import { type IssuedToken, readExchangeAnswer } from './check-exchange-answer.ts';
import { exchangeError, type ExchangeErrorCode } from './exchange-error.ts';
import { DeadlineExceeded, type FormAnswer, postForm } from './post-form.ts';

const GRANT = 'urn:ietf:params:oauth:grant-type:token-exchange';
const TOKEN_TYPE = 'urn:ietf:params:oauth:token-type:';
const MAX_ANSWER = 64 * 1024;

interface ExchangeCall {
  readonly backend: string;
  readonly clientSecret: string | undefined;
  readonly subjectToken: string;
  readonly dispatcher: Dispatcher;
  /** Milliseconds for the whole answer. */
  readonly deadline: number;
  readonly now: () => number;
}

/** RFC 8693 §2. @throws RequestError whose cause names the problem, without any token */
export async function exchangeToken(auth: TokenExchange, call: ExchangeCall): Promise<IssuedToken> {
  const form = exchangeForm(auth, call);
  const headers = clientAuthentication(auth, call.clientSecret);
  const { dispatcher, deadline } = call;
  let answer: FormAnswer;
  try {
    answer = await postForm(auth.token_url, form, { dispatcher, headers, deadline, maxBytes: MAX_ANSWER });
  } catch (cause) {
    throw exchangeError(codeOf(cause), call.backend, cause);
  }
  return readExchangeAnswer(answer, {
    backend: call.backend,
    audience: auth.audience,
    scopes: auth.scopes,
    subjectToken: call.subjectToken,
    now: call.now(),
  });
}

function codeOf(cause: unknown): ExchangeErrorCode {
  if (cause instanceof DeadlineExceeded) return 'token_exchange_timeout';
  return cause instanceof AnswerTooLarge ? 'token_exchange_invalid' : 'token_exchange_unavailable';
}

function exchangeForm(auth: TokenExchange, { clientSecret, subjectToken }: ExchangeCall): URLSearchParams {
  const form = new URLSearchParams({
    grant_type: GRANT,
    subject_token: subjectToken,
    subject_token_type: tokenTypeUri(auth.subject_token_type ?? 'access_token'),
    requested_token_type: `${TOKEN_TYPE}access_token`,
  });
  if (auth.audience !== undefined) form.set('audience', auth.audience);
  if (auth.scopes.length > 0) form.set('scope', auth.scopes.join(' '));
  // RFC 6749 §3.2.1: a public client names itself in the body.
  if (auth.client_id !== undefined && clientSecret === undefined) form.set('client_id', auth.client_id);
  return form;
}

/** Expands the short names `access_token`, `id_token` and `jwt` to the URIs of RFC 8693 §3. */
function tokenTypeUri(type: string): string {
  return type.includes(':') ? type : TOKEN_TYPE + type;
}

function clientAuthentication(auth: TokenExchange, clientSecret: string | undefined): Record<string, string> {
  if (auth.client_id === undefined || clientSecret === undefined) return {};
  return { authorization: basicCredentials(auth.client_id, clientSecret) };
}
