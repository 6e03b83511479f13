import { LEEWAY_SECONDS } from '#runtime/incoming/verify-jwt';
import { auditSubjects } from '../audit-subjects.ts';
import { OAuthError } from '../errors.ts';
import type { Answer, RequestFacts } from '../handler.ts';
import { hashId } from '../ids.ts';
import type { SessionRow } from '../storage/rows.ts';
import type { Held, RedeemedAssertion } from '../storage/storage.ts';
import { answerTokens } from '../token/answer-tokens.ts';
import { chooseResource, intersectScopes } from '../token/choose-grant.ts';
import { required } from '../token/read-form.ts';
import { checkBlocked } from '../token/refuse-grant.ts';
import type { TokenSettings } from '../token/token-settings.ts';
import { checkAssertion, type CheckedAssertion, refused } from './check-assertion.ts';
import { readAssertedUser } from './read-asserted-user.ts';
import { slotOf } from './revocations.ts';

/**
 * Redeems an assertion of an identity provider (RFC 7523 §2.1), once. It has no refresh token: the client gets another assertion, which the
 * identity provider may refuse. @throws OAuthError
 */
export async function redeemAssertion(
  { form, remoteAddress }: RequestFacts,
  parameters: ReadonlyMap<string, string>,
  clientId: string,
  settings: TokenSettings,
): Promise<Answer> {
  const { storage, record, issuer, now, assertions, lifespans } = settings;
  await checkClient(clientId, settings);
  const asked = chooseResource(form.getAll('resource'), settings.resources);
  const rules = { issuers: assertions.issuers, audience: issuer, clientId, now };
  const checked = await checkAssertion(required(parameters, 'assertion'), rules);
  const resource = grantResource(checked, asked, form.has('resource'), settings.resources);
  const scope = grantScope(checked, parameters.get('scope'), clientId, settings);
  const user = readAssertedUser(checked, assertions);
  checkBlocked(user.sub, settings);
  const row = sessionOf({ client_id: clientId, resource, scope, user }, settings);
  const session = { slot: slotOf(row), key: hashId(settings.newId()), row, lifespan: lifespans.access };
  const held = await storage.holdSession({ ...session, assertion: redemptionOf(checked, row, settings) });
  if (held.outcome !== 'held') throw refusalOf(held.outcome);
  record({
    type: 'auth_token_issued',
    outcome: 'success',
    source: remoteAddress,
    subjects: auditSubjects(user),
    details: { client_id: clientId, grant_type: 'jwt-bearer', issuer: checked.issuer.config.issuer },
  });
  settings.clients.use(clientId).catch(() => undefined);
  return answerTokens({ key: held.key, refreshToken: undefined, session: row, scope }, settings);
}

/** A client with a metadata document must still have it. @throws OAuthError */
async function checkClient(clientId: string, { assertions, clients }: TokenSettings): Promise<void> {
  if (!assertions.issuers.admits(clientId))
    throw new OAuthError('unauthorized_client', 'The client is not registered for this grant');
  if (!(await clients.isKnown(clientId)))
    throw new OAuthError('invalid_client', 'The client is not known, or its metadata document cannot be read');
}

/** Without `resource` in the assertion, the identity provider assigns no resource. Then only one may be meant. */
function grantResource({ claims }: CheckedAssertion, asked: string, isAsked: boolean, own: readonly string[]): string {
  if (claims.resource === undefined) {
    if (own.length === 1) return asked;
    throw refused('It names no resource, and this server has several');
  }
  const named: unknown[] = [claims.resource].flat();
  const granted = isAsked ? asked : own.find((resource) => named.includes(resource));
  if (granted !== undefined && named.includes(granted)) return granted;
  throw refused('Its resource is not the URL of this endpoint; they are compared byte for byte');
}

/** Intersects the scopes of the assertion, the request, the client and the issuer. */
function grantScope(
  { claims, issuer }: CheckedAssertion,
  asked: string | undefined,
  clientId: string,
  { scopesSupported, registered }: TokenSettings,
): readonly string[] {
  const { scope: asserted } = claims;
  if (asserted !== undefined && typeof asserted !== 'string') throw refused('Its scope is no text');
  const limits = [issuer.config.scopes, registered.get(clientId)?.scope?.split(' '), asserted?.split(' ')];
  return intersectScopes(asked, scopesSupported, limits);
}

function sessionOf(
  granted: Pick<SessionRow, 'client_id' | 'resource' | 'scope' | 'user'>,
  { secrets, lifespans, now }: TokenSettings,
): SessionRow {
  const at = now();
  const times = { ends_at: at + lifespans.access, asked_at: at, answered_at: at };
  return { ...granted, sub: granted.user.sub, kid: secrets.kid, ...times };
}

/** The assertion stays known for as long as any replica may accept it. */
function redemptionOf(
  { claims, issuer }: CheckedAssertion,
  row: SessionRow,
  { lifespans, now }: TokenSettings,
): RedeemedAssertion {
  return {
    id: hashId(JSON.stringify(['assertion', issuer.config.issuer, claims.jti])),
    lifespan: claims.exp * 1000 - now() + LEEWAY_SECONDS * 1000,
    issuedAt: claims.iat * 1000,
    revocations: [row.sub, slotOf(row)],
    linksLifespan: lifespans.refresh,
  };
}

function refusalOf(outcome: Exclude<Held['outcome'], 'held'>): OAuthError {
  if (outcome === 'replayed') return refused('It was redeemed before');
  if (outcome === 'revoked') return refused('It was issued before the access of the user was revoked');
  return new OAuthError('temporarily_unavailable', 'No more assertions can be accepted at the moment');
}
