import { redeemAssertion } from '../assertions/redeem-assertion.ts';
import { OAuthError } from '../errors.ts';
import type { Answer, Handler, RequestFacts } from '../handler.ts';
import type { RegisteredClient } from '../register/registered-clients.ts';
import { authenticateClient } from './authenticate-client.ts';
import { issueClientToken } from './issue-client-token.ts';
import { readForm, required } from './read-form.ts';
import { redeemCode } from './redeem-code.ts';
import { refreshSession } from './refresh-session.ts';
import type { TokenSettings } from './token-settings.ts';

/** RFC 7523 §2.1. */
export const JWT_BEARER = 'urn:ietf:params:oauth:grant-type:jwt-bearer';

interface GrantType {
  readonly issue: (
    facts: RequestFacts,
    parameters: ReadonlyMap<string, string>,
    clientId: string,
    settings: TokenSettings,
  ) => Promise<Answer>;
  /** The grant that a registered client needs. Absent: the grant itself checks its clients. */
  readonly needs?: RegisteredClient['grants'][number];
}

const GRANTS: ReadonlyMap<string, GrantType> = new Map<string, GrantType>([
  ['authorization_code', { issue: redeemCode, needs: 'authorization_code' }],
  ['refresh_token', { issue: refreshSession, needs: 'authorization_code' }],
  ['client_credentials', { issue: issueClientToken, needs: 'client_credentials' }],
  [JWT_BEARER, { issue: redeemAssertion }],
]);

/** Creates the token endpoint (RFC 6749 §3.2). */
export function createIssueTokens(settings: TokenSettings): Handler {
  return async (facts) => {
    const parameters = readForm(facts);
    const grantType = required(parameters, 'grant_type');
    const grant = GRANTS.get(grantType);
    if (!grant || (grantType === JWT_BEARER && settings.assertions.issuers.size === 0))
      throw new OAuthError('unsupported_grant_type', `The grant types are ${[...GRANTS.keys()].join(', ')}`);
    try {
      const clientId = await authenticateClient(facts, parameters, settings);
      checkGrant(grant, settings.registered.get(clientId));
      return await grant.issue(facts, parameters, clientId, settings);
    } catch (error) {
      recordRefusal(error, grantType, facts, settings);
      throw error;
    }
  };
}

/** Clients that register themselves have the grants of users only. @throws OAuthError `unauthorized_client` */
function checkGrant({ needs }: GrantType, client: RegisteredClient | undefined): void {
  if (needs === undefined || (client?.grants ?? ['authorization_code']).includes(needs)) return;
  throw new OAuthError('unauthorized_client', 'The client is not registered for this grant');
}

/** Records the reason of a refusal. The client may not be authenticated, so it is left out. */
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
