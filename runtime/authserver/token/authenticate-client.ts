import { decodeJwt, decodeProtectedHeader, type JWTPayload, type ProtectedHeaderParameters } from 'jose';
import { isGeneratedId } from '#crds/parts/registered-client';
import { LEEWAY_SECONDS, verifyJwt } from '#runtime/incoming/verify-jwt';
import { OAuthError } from '../errors.ts';
import type { RequestFacts } from '../handler.ts';
import { hashId } from '../ids.ts';
import { isDocumentUrl } from '../register/document-url.ts';
import type { ClientCredential, RegisteredClients } from '../register/registered-clients.ts';
import type { AuthStorage } from '../storage/storage.ts';
import { readBasic, readClientId, readSecrets, isSecretAmong } from './client-credentials.ts';

interface AuthenticationSettings {
  readonly registered: Pick<RegisteredClients, 'get'>;
  readonly storage: Pick<AuthStorage, 'useAssertion'>;
  readonly issuer: string;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
}

/** RFC 7523 §2.2. */
const ASSERTION_TYPE = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer';
/** Seconds. The storage remembers an assertion until it expires. */
const LONGEST_ASSERTION = 3_600;

/**
 * Authenticates a client that the administrator registered (RFC 6749 §2.3, RFC 7523 §3). All others are public, whatever they send.
 * @returns the client id @throws OAuthError `invalid_client`, `invalid_request`, 503
 */
export async function authenticateClient(
  facts: RequestFacts,
  parameters: ReadonlyMap<string, string>,
  settings: AuthenticationSettings,
): Promise<string> {
  const assertion = parameters.get('client_assertion');
  if (assertion !== undefined) return checkAssertion(assertion, facts, parameters, settings);
  const clientId = readClientId(facts, parameters);
  const client = settings.registered.get(clientId);
  if (client) checkSecret(client.credential, readSecrets(facts, parameters, clientId));
  // A registered client that was removed must not go on as a public one.
  else if (!isGeneratedId(clientId) && !isDocumentUrl(clientId)) throw unknownClient();
  return clientId;
}

function checkSecret(credential: ClientCredential, presented: readonly string[]): void {
  if (credential.type === 'none') return;
  if (credential.type === 'keys') throw refused('The client must authenticate with private_key_jwt');
  if (!isSecretAmong(presented, credential.read())) throw refused('The client secret is missing or wrong');
}

async function checkAssertion(
  assertion: string,
  facts: RequestFacts,
  parameters: ReadonlyMap<string, string>,
  settings: AuthenticationSettings,
): Promise<string> {
  if (readBasic(facts.headers.authorization).length > 0 || parameters.has('client_secret'))
    throw new OAuthError('invalid_request', 'The client authenticates in two ways; use one');
  if (parameters.get('client_assertion_type') !== ASSERTION_TYPE)
    throw refused(`The client_assertion_type must be ${ASSERTION_TYPE}`);
  const { header, subject } = readAssertion(assertion);
  const clientId = parameters.get('client_id') ?? subject ?? '';
  const credential = settings.registered.get(clientId)?.credential;
  if (credential?.type !== 'keys') throw unknownClient();
  const { issuer, now, storage } = settings;
  const challenges = { invalid: (_reason: string, cause?: unknown) => refused(WRONG_ASSERTION, cause), unavailable };
  const rules = { issuer: clientId, audience: issuer, types: ASSERTION_TYPES, challenges, now };
  const { claims } = await verifyJwt(assertion, header, rules, credential.keys);
  const id = checkClaims(claims, clientId, now() / 1000);
  await useOnce(storage, id, claims.exp * 1000 - now());
  return clientId;
}

/** Checks what the signature and `verifyJwt` leave open. @returns the id of the assertion in the storage @throws OAuthError */
function checkClaims(
  { aud, sub, exp, iat = 0, jti }: JWTPayload & { readonly exp: number },
  clientId: string,
  seconds: number,
): string {
  if (sub !== clientId || [aud].flat().length !== 1) throw refused(WRONG_ASSERTION);
  if (typeof jti !== 'string' || jti === '') throw refused('The client assertion has no jti');
  if (exp - seconds > LONGEST_ASSERTION || iat > seconds + LEEWAY_SECONDS)
    throw refused('The client assertion is valid for more than an hour, or begins in the future');
  return hashId(JSON.stringify(['client', clientId, jti]));
}

const ASSERTION_TYPES = ['jwt', 'client-authentication+jwt', ''];
const WRONG_ASSERTION =
  'The client assertion is not valid: it needs a signature by a key of the client, iss and sub with the client id, aud with this issuer alone, and exp';

async function useOnce(storage: AuthenticationSettings['storage'], id: string, lifespan: number): Promise<void> {
  const outcome = await storage.useAssertion(id, lifespan);
  if (outcome === 'replayed') throw refused('The client assertion was used before');
  if (outcome === 'full')
    throw new OAuthError('temporarily_unavailable', 'No more assertions can be accepted at the moment');
}

function readAssertion(text: string): { header: ProtectedHeaderParameters; subject: string | undefined } {
  try {
    return { header: decodeProtectedHeader(text), subject: decodeJwt(text).sub };
  } catch (cause) {
    throw refused(WRONG_ASSERTION, cause);
  }
}

function unknownClient(): OAuthError {
  return refused('There is no such client; register again');
}

function refused(text: string, cause?: unknown): OAuthError {
  return new OAuthError('invalid_client', text, { cause });
}

function unavailable(cause: unknown): OAuthError {
  return new OAuthError('temporarily_unavailable', 'The keys of the client cannot be read; try again soon', { cause });
}
