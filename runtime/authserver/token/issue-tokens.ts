import { OAuthError } from '../errors.ts';
import type { Answer, Handler, RequestFacts } from '../handler.ts';
import { readClientId } from './client-credentials.ts';
import { readForm, required } from './read-form.ts';
import { redeemCode } from './redeem-code.ts';
import { refreshSession } from './refresh-session.ts';
import type { TokenSettings } from './token-settings.ts';

type GrantType = (
  facts: RequestFacts,
  parameters: ReadonlyMap<string, string>,
  clientId: string,
  settings: TokenSettings,
) => Promise<Answer>;

const GRANTS: ReadonlyMap<string, GrantType> = new Map([
  ['authorization_code', redeemCode],
  ['refresh_token', refreshSession],
]);

/** Creates the token endpoint (RFC 6749 §3.2) for public clients. */
export function createIssueTokens(settings: TokenSettings): Handler {
  return async (facts) => {
    const parameters = readForm(facts);
    const grantType = required(parameters, 'grant_type');
    const grant = GRANTS.get(grantType);
    if (!grant)
      throw new OAuthError('unsupported_grant_type', 'The grant types are authorization_code and refresh_token');
    try {
      return await grant(facts, parameters, readClientId(facts, parameters), settings);
    } catch (error) {
      recordRefusal(error, grantType, facts, settings);
      throw error;
    }
  };
}

/** Records the reason of a refusal. The client is not authenticated, so it is left out. */
function recordRefusal(
  error: unknown,
  grantType: string,
  { remoteAddress }: RequestFacts,
  { record }: TokenSettings,
): void {
  const isRefusal = error instanceof OAuthError && error.status < 500;
  record({
    type: grantType === 'refresh_token' ? 'auth_token_refreshed' : 'auth_token_issued',
    outcome: isRefusal ? 'denied' : 'error',
    source: remoteAddress,
    details: { code: error instanceof OAuthError ? error.code : 'unavailable' },
  });
}
