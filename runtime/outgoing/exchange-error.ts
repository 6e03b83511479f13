import { RequestError } from '#runtime/errors';

const TEXTS = {
  token_exchange_unavailable: 'cannot be reached or is failing; try again later',
  token_exchange_timeout: 'did not answer in time; try again later',
  token_exchange_busy: 'has too many requests waiting; try again later',
  token_exchange_refused: 'refused to exchange your sign-in for a token of this backend; you may lack access to it',
  token_exchange_misconfigured: "refused this server's own credentials or request; an administrator has to mend that",
  token_exchange_invalid: 'gave an answer that cannot be used; an administrator has to look at it',
  token_exchange_no_subject: 'needs a signed-in caller, and this call has no valid sign-in; sign in again',
  token_exchange_no_id_token:
    'needs an ID token of your provider, and none is stored; an administrator has to look at it',
} as const;

export type ExchangeErrorCode = keyof typeof TEXTS;

/** An error of this call alone, at HTTP 200: session and other backends still work. The reason is the cause, which is never sent. */
export function exchangeError(code: ExchangeErrorCode, backend: string, cause: unknown): RequestError {
  const text = `The token service of backend ${backend} ${TEXTS[code]}.`;
  return new RequestError(
    { status: 200, code, text, rpc: { code: -32603, data: { reason: code, backend } } },
    { cause },
  );
}
