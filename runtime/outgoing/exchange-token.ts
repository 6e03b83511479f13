import type { TokenExchange } from '#crds/run-config/outgoing';
import { askTokenEndpoint, type TokenRequester } from './ask-token-endpoint.ts';
import { type IssuedToken, readExchangeAnswer } from './check-exchange-answer.ts';

export const GRANT = 'urn:ietf:params:oauth:grant-type:token-exchange';
export const TOKEN_TYPE = 'urn:ietf:params:oauth:token-type:';

/** RFC 8693 §2. @throws RequestError whose cause names the problem, without any token */
export async function exchangeToken(
  auth: TokenExchange,
  subjectToken: string,
  requester: TokenRequester,
): Promise<IssuedToken> {
  const form = exchangeForm(auth, subjectToken);
  const clientSecret = requester.secretOf(auth.client_secret_file);
  const request = { url: auth.token_url, form, clientId: auth.client_id, clientSecret };
  const answer = await askTokenEndpoint(request, requester);
  const { backend, now } = requester;
  return readExchangeAnswer(answer, {
    backend,
    audience: auth.audience,
    scopes: auth.scopes,
    subjectToken,
    now: now(),
  });
}

function exchangeForm(auth: TokenExchange, subjectToken: string): URLSearchParams {
  const form = new URLSearchParams({
    grant_type: GRANT,
    subject_token: subjectToken,
    subject_token_type: tokenTypeUri(auth.subject_token_type ?? 'access_token'),
    requested_token_type: `${TOKEN_TYPE}access_token`,
  });
  if (auth.audience !== undefined) form.set('audience', auth.audience);
  if (auth.scopes.length > 0) form.set('scope', auth.scopes.join(' '));
  return form;
}

/** Expands the short names `access_token`, `id_token` and `jwt` to the URIs of RFC 8693 §3. */
function tokenTypeUri(type: string): string {
  return type.includes(':') ? type : TOKEN_TYPE + type;
}
