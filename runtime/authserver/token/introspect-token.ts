import { OAuthError } from '../errors.ts';
import { jsonAnswer, type Handler, type RequestFacts } from '../handler.ts';
import { isSecretAmong, readBasic, readSecrets } from './client-credentials.ts';
import { findToken, type FoundToken } from './find-token.ts';
import { readForm, required } from './read-form.ts';
import type { TokenSettings } from './token-settings.ts';

interface IntrospectionClient {
  readonly clientId: string;
  readonly readSecret: () => string;
}

/** Creates the introspection endpoint (RFC 7662) for the configured clients. Without clients there is no endpoint. */
export function createIntrospectToken(
  clients: readonly IntrospectionClient[],
  settings: TokenSettings,
): Handler | undefined {
  if (clients.length === 0) return undefined;
  return async (facts) => {
    const parameters = readForm(facts);
    checkCaller(facts, parameters, clients);
    const found = await findToken(required(parameters, 'token'), settings);
    return jsonAnswer(found && isCurrent(found) ? describe(found, settings) : { active: false });
  };
}

/** Authenticates the caller. @throws OAuthError `invalid_client` */
function checkCaller(
  facts: RequestFacts,
  parameters: ReadonlyMap<string, string>,
  clients: readonly IntrospectionClient[],
): void {
  const basic = readBasic(facts.headers.authorization).map(({ user }) => user);
  const ids = basic.length > 0 ? basic : [parameters.get('client_id')];
  const fits = clients.filter(({ clientId }) => ids.includes(clientId));
  if (!fits.some(({ clientId, readSecret }) => isSecretAmong(readSecrets(facts, parameters, clientId), readSecret())))
    throw new OAuthError('invalid_client', 'Client id and secret are not those of a client that may ask');
}

/** A refresh token with a successor is no longer active. */
function isCurrent(found: FoundToken): boolean {
  return found.kind === 'access' || found.gen >= found.session.gen;
}

function describe(found: FoundToken, { issuer, lifespans }: TokenSettings): Record<string, unknown> {
  const { session } = found;
  const { sub, client_id, user } = session;
  const about = { active: true, iss: issuer, sub, client_id, username: user.email ?? user.name };
  if (found.kind === 'access') {
    const { scope, aud, exp, iat, jti } = found.claims;
    return { ...about, token_type: 'Bearer', scope, aud, exp, iat, jti };
  }
  const endsAt = Math.min(session.rotated_at + lifespans.refresh, session.ends_at);
  const iat = Math.floor(session.rotated_at / 1000);
  return { ...about, scope: session.scope.join(' '), aud: session.resource, exp: Math.floor(endsAt / 1000), iat };
}
