import { isBlank } from '#crds/parts/primitives';
import { hash, timingSafeEqual } from 'node:crypto';
import { OAuthError } from '../errors.ts';
import { jsonAnswer, type Handler, type RequestFacts } from '../handler.ts';
import { readBasic } from './client-credentials.ts';
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
  { headers }: RequestFacts,
  parameters: ReadonlyMap<string, string>,
  clients: readonly IntrospectionClient[],
): void {
  const basic = readBasic(headers.authorization);
  const id = basic?.user ?? parameters.get('client_id');
  const secret = basic?.password ?? parameters.get('client_secret');
  const digest = (text: string) => hash('sha256', text, 'buffer');
  const given = digest(secret ?? '');
  // All clients are compared, so that the response time does not reveal which ids exist.
  const fits = clients.map(({ clientId, readSecret }) => {
    const isSecret = timingSafeEqual(given, digest(readSecret()));
    return isSecret && clientId === id && secret !== undefined && !isBlank(secret);
  });
  if (!fits.includes(true))
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
