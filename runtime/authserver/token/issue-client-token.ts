import { OAuthError } from '../errors.ts';
import type { Answer, RequestFacts } from '../handler.ts';
import { hashId } from '../ids.ts';
import type { RegisteredClient } from '../register/registered-clients.ts';
import type { SessionRow } from '../storage/rows.ts';
import { answerTokens } from './answer-tokens.ts';
import { chooseResource, intersectScopes } from './choose-grant.ts';
import type { TokenSettings } from './token-settings.ts';

/** Issues a token to a client that acts as itself (RFC 6749 §4.4). Policies see Client::"<client_id>". @throws OAuthError */
export async function issueClientToken(
  { form, remoteAddress }: RequestFacts,
  parameters: ReadonlyMap<string, string>,
  clientId: string,
  settings: TokenSettings,
): Promise<Answer> {
  const { storage, record, lifespans } = settings;
  const client = settings.registered.get(clientId);
  if (client === undefined) throw new OAuthError('unauthorized_client', 'This grant is for registered clients');
  const resource = chooseResource(form.getAll('resource'), settings.resources);
  const scope = intersectScopes(parameters.get('scope'), settings.scopesSupported, [client.scope?.split(' ')]);
  const row = sessionOf(client, { resource, scope }, settings);
  const slot = hashId(JSON.stringify(['client', clientId, resource]));
  const held = await storage.holdSession({ slot, key: hashId(settings.newId()), row, lifespan: lifespans.access });
  if (held.outcome !== 'held') throw new Error('a session without an assertion was refused');
  const { key } = held;
  const subjects = { client_name: client.client_name, user_id: clientId };
  const details = { client_id: clientId, grant_type: 'client_credentials' };
  record({ type: 'auth_token_issued', outcome: 'success', source: remoteAddress, subjects, details });
  return answerTokens({ key, refreshToken: undefined, session: row, scope }, settings);
}

function sessionOf(
  { client_id, client_name }: RegisteredClient,
  granted: Pick<SessionRow, 'resource' | 'scope'>,
  { issuer, secrets, lifespans, now }: TokenSettings,
): SessionRow {
  const at = now();
  const account = { issuer, subject: client_id, name: client_name, email: undefined, email_verified: undefined };
  const user = { ...account, sub: client_id, claims: {} };
  const times = { ends_at: at + lifespans.access, asked_at: at, answered_at: at };
  return { client_id, sub: client_id, ...granted, user, kid: secrets.kid, ...times };
}
