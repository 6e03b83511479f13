import { auditSubjects } from '../audit-subjects.ts';
import { OAuthError } from '../errors.ts';
import type { Answer, RequestFacts } from '../handler.ts';
import { hashId } from '../ids.ts';
import type { ActiveSession } from '../storage/rows.ts';
import type { Rotated, Rotation } from '../storage/storage.ts';
import { isGenuine, splitRefreshToken } from '../token-formats/refresh-token.ts';
import { answerTokens, nextRefreshToken } from './answer-tokens.ts';
import { checkResource, narrowScope } from './check-grant.ts';
import { isLastIssued, withoutSecret } from './known-session.ts';
import { required } from './read-form.ts';
import { checkBlocked, notIssuedHere, readGrant, refuseGrant } from './refuse-grant.ts';
import type { TokenSettings } from './token-settings.ts';

/** Milliseconds in which a client that missed the answer gets it again. */
const GRACE = 30_000;
const GONE = 'The refresh token is not valid (any more)';

/** RFC 6749 §6, RFC 9700 §4.14.2. The token stays valid until client, resource, scope and the user's check pass. @throws OAuthError */
export async function refreshSession(
  facts: RequestFacts,
  parameters: ReadonlyMap<string, string>,
  clientId: string,
  settings: TokenSettings,
): Promise<Answer> {
  const { storage, secrets, known } = settings;
  const text = required(parameters, 'refresh_token');
  const token = splitRefreshToken(text);
  if (!token) throw notIssuedHere();
  const key = hashId(token.secret);
  const before = known.get(key);
  if (!before || !isLastIssued(token, before, secrets.status.kids))
    await readGrant(() => isGenuine(secrets, token) || undefined, clientId, settings);
  const session = before?.session ?? (await storage.getSession(key));
  if (session?.client_id !== clientId) throw await refuseGrant(clientId, GONE, settings);
  checkServed(session.resource, settings);
  checkBlocked(session.sub, settings);
  checkResource(facts.form.getAll('resource'), session.resource);
  const scope = narrowScope(parameters.get('scope'), session.scope, settings.scopesSupported);
  await settings.revalidate(key, session);
  const rotated = await storage.rotateSession(key, rotationOf(clientId, token.gen, session, settings));
  if (rotated.outcome !== 'rotated') throw await refuseRotation(rotated, key, clientId, facts, settings);
  const refreshToken = nextRefreshToken(token.secret, rotated.session, settings);
  known.set(key, { session: rotated.session, issued: withoutSecret(refreshToken) });
  recordRefreshed(rotated.session, facts, settings);
  // The answer does not wait for this write.
  settings.clients.use(clientId).catch(() => undefined);
  return answerTokens({ key, refreshToken, session: rotated.session, scope }, settings);
}

/** The URL of the endpoint may have changed, and the endpoint rejects tokens for the former URL. */
function checkServed(resource: string, { resources }: TokenSettings): void {
  if (!resources.includes(resource)) throw new OAuthError('invalid_grant', 'The resource is not served here any more');
}

function rotationOf(clientId: string, gen: number, known: ActiveSession, settings: TokenSettings): Rotation {
  const { secrets, lifespans, requiredProviders: required } = settings;
  return { clientId, gen, kid: secrets.kid, grace: GRACE, lifespan: lifespans.refresh, required, known };
}

async function refuseRotation(
  rotated: Exclude<Rotated, { readonly outcome: 'rotated' }>,
  key: string,
  clientId: string,
  facts: RequestFacts,
  settings: TokenSettings,
): Promise<OAuthError> {
  settings.known.delete(key);
  if (rotated.outcome === 'unknown') return refuseGrant(clientId, GONE, settings);
  if (rotated.outcome === 'replayed') return refuseReplayed(key, rotated.sub, facts, settings);
  // The client must start a login. It visits only the provider that is not linked or has rejected the user's tokens.
  return new OAuthError('invalid_grant', 'The user has to log in again');
}

/** Records a replayed refresh token. The storage has ended the session already, because the token may be stolen. */
function refuseReplayed(
  key: string,
  sub: string,
  { remoteAddress }: RequestFacts,
  settings: TokenSettings,
): OAuthError {
  settings.ended(key, sub);
  settings.record({
    type: 'auth_token_revoked',
    outcome: 'success',
    source: remoteAddress,
    subjects: { user_id: sub },
    details: { reason: 'an old refresh token came back' },
  });
  return new OAuthError('invalid_grant', 'The refresh token was used before: the session has ended');
}

function recordRefreshed(session: ActiveSession, { remoteAddress }: RequestFacts, { record }: TokenSettings): void {
  record({
    type: 'auth_token_refreshed',
    outcome: 'success',
    source: remoteAddress,
    subjects: auditSubjects(session.user),
    details: { client_id: session.client_id },
  });
}
