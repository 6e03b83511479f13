import { LONGEST_LOGIN_DAYS } from '#crds/parts/defaults';
import { auditSubjects } from '../audit-subjects.ts';
import { OAuthError } from '../errors.ts';
import type { Answer, RequestFacts } from '../handler.ts';
import { hashId } from '../ids.ts';
import type { CodeRow, SessionRow } from '../storage/rows.ts';
import { readCode } from '../token-formats/authorization-code.ts';
import { answerTokens, nextRefreshToken } from './answer-tokens.ts';
import { checkResource, checkVerifier } from './check-grant.ts';
import { required } from './read-form.ts';
import { checkBlocked, readGrant, refuseGrant } from './refuse-grant.ts';
import type { TokenSettings } from './token-settings.ts';

/** Maximum duration of a login in milliseconds. */
const LONGEST_LOGIN = LONGEST_LOGIN_DAYS * 86_400_000;

/** At most once (RFC 6749 §4.1.3). The code stays valid until client, redirect URI, PKCE and resource match. @throws OAuthError */
export async function redeemCode(
  facts: RequestFacts,
  parameters: ReadonlyMap<string, string>,
  clientId: string,
  settings: TokenSettings,
): Promise<Answer> {
  const { storage, secrets } = settings;
  const text = required(parameters, 'code');
  const id = hashId(await readGrant(() => readCode(secrets, text), clientId, settings));
  const code = await storage.getCode(id);
  if (code?.request.client_id !== clientId)
    throw await refuseGrant(clientId, 'The code is not valid (any more)', settings);
  checkCode(code, facts, parameters);
  checkBlocked(code.user.sub, settings);
  const secret = settings.newId();
  const key = hashId(secret);
  const row = newSession(code, settings);
  const redeemed = await storage.redeemCode(id, { key, row, lifespan: settings.lifespans.refresh });
  if (redeemed.outcome === 'unknown') throw await refuseGrant(clientId, 'The code is not valid (any more)', settings);
  if (redeemed.outcome === 'replayed') throw await endReplayed(redeemed.session, row, facts, settings);
  recordIssued(row, facts, settings);
  // The answer does not wait for this write.
  settings.clients.use(clientId).catch(() => undefined);
  const refreshToken = nextRefreshToken(secret, { ...row, gen: 0 }, settings);
  return answerTokens({ key, refreshToken, session: row, scope: row.scope }, settings);
}

function checkCode({ request }: CodeRow, { form }: RequestFacts, parameters: ReadonlyMap<string, string>): void {
  // OAuth 2.1 §10.2 lets clients omit it: PKCE binds the code to the client that began the login.
  const redirectUri = parameters.get('redirect_uri') ?? request.redirect_uri;
  if (redirectUri !== request.redirect_uri)
    throw new OAuthError('invalid_grant', 'The redirect_uri is not the one of the code');
  checkVerifier(parameters.get('code_verifier'), request.code_challenge);
  checkResource(form.getAll('resource'), request.resource);
}

function newSession({ request, user }: CodeRow, { secrets, now }: TokenSettings): SessionRow {
  const { client_id, scope, resource } = request;
  const at = now();
  const times = { ends_at: at + LONGEST_LOGIN, asked_at: at, answered_at: at };
  return { client_id, sub: user.sub, scope, resource, user, kid: secrets.kid, ...times };
}

/** Revokes the tokens that were issued for a replayed code, and nothing else (RFC 6749 §4.1.2). */
async function endReplayed(
  key: string,
  { sub }: SessionRow,
  { remoteAddress }: RequestFacts,
  { storage, ended, record }: TokenSettings,
): Promise<OAuthError> {
  await storage.endSession(key);
  ended(key, sub);
  const details = { reason: 'its code came a second time' };
  record({
    type: 'auth_token_revoked',
    outcome: 'success',
    source: remoteAddress,
    subjects: { user_id: sub },
    details,
  });
  return new OAuthError('invalid_grant', 'The code was used before');
}

function recordIssued({ user, client_id }: SessionRow, { remoteAddress }: RequestFacts, { record }: TokenSettings) {
  record({
    type: 'auth_token_issued',
    outcome: 'success',
    source: remoteAddress,
    subjects: auditSubjects(user),
    details: { client_id },
  });
}
