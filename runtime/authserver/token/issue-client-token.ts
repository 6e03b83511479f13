import { OAuthError } from '../errors.ts';
import type { Answer, RequestFacts } from '../handler.ts';
import { hashId } from '../ids.ts';
import type { RegisteredClient } from '../register/registered-clients.ts';
import type { SessionRow } from '../storage/rows.ts';
import { answerTokens } from './answer-tokens.ts';
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
  const scope = chooseScope(parameters.get('scope'), client, settings.scopesSupported);
  const row = sessionOf(client, { resource, scope }, settings);
  const slot = hashId(JSON.stringify(['client', clientId, resource]));
  const key = await storage.holdSession({ slot, key: hashId(settings.newId()), row, lifespan: lifespans.access });
  const subjects = { client_name: client.client_name, user_id: clientId };
  const details = { client_id: clientId, grant_type: 'client_credentials' };
  record({ type: 'auth_token_issued', outcome: 'success', source: remoteAddress, subjects, details });
  return answerTokens({ key, refreshToken: undefined, session: row, scope }, settings);
}

/** RFC 8707 §2.2. Compared byte for byte; absent: the endpoint. */
function chooseResource(asked: readonly string[], resources: readonly string[]): string {
  const named = asked.filter((resource) => resource !== '');
  const [resource = resources[0]] = named;
  if (named.length <= 1 && resource !== undefined && resources.includes(resource)) return resource;
  throw new OAuthError(
    'invalid_target',
    'The resource is not the URL of this endpoint; they are compared byte for byte',
  );
}

/** `offline_access` asks for a refresh token, and this grant has none (RFC 6749 §4.4.3). */
function chooseScope(
  asked: string | undefined,
  { scope }: RegisteredClient,
  supported: readonly string[],
): readonly string[] {
  const allowed = (scope?.split(' ') ?? supported).filter((one) => supported.includes(one) && one !== 'offline_access');
  if (asked === undefined) return allowed;
  const named = new Set(asked.split(' '));
  const granted = allowed.filter((one) => named.has(one));
  if (granted.length > 0) return granted;
  throw new OAuthError('invalid_scope', 'The client may have none of these scopes');
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
