import { hash } from 'node:crypto';
import type { OidcIncoming } from '#crds/run-config/incoming';
import { metadataUrl } from '#runtime/http/resource-metadata';
import { ConfigError } from '#runtime/errors';
import type { AuthenticatorOptions } from './authenticator-options.ts';
import { createChallenges, type Challenges } from './challenges.ts';
import type { Authenticator, Identity } from './identity.ts';
import type { KeySet } from './key-set.ts';
import { createLoginCheck, type LoginCheck } from './login-check.ts';
import { readBearer } from './read-bearer.ts';
import { createTokenMemory, type RememberedToken, type TokenMemory } from './token-memory.ts';
import { createTokenVerifier, type TokenVerifier } from './token-verifier.ts';

const REMEMBERED_TOKENS = 10_000;

/** Caches a token by its hash, at most until its expiry or a change of keys. A hit costs one hash and one lookup. @throws ConfigError */
export function createOidcAuthenticator(incoming: OidcIncoming, options: AuthenticatorOptions): Authenticator {
  const { resourceUrl, now } = options;
  const audience = incoming.audience ?? resourceUrl;
  const challenges = createChallenges({
    metadataUrl: options.metadataUrl ?? (resourceUrl === undefined ? undefined : metadataUrl(resourceUrl)),
    scopes: incoming.scopes,
  });
  const logins = chooseLoginCheck(incoming, options, challenges);
  const verifier = createTokenVerifier(incoming, options, { audience, challenges });
  return new OidcAuthenticator(
    verifier,
    challenges,
    { now, lookedUp: options.lookedUp, logins },
    warningsOf(incoming, audience),
  );
}

function chooseLoginCheck(
  incoming: OidcIncoming,
  { embeddedSessions: sessions, groupsClaim }: AuthenticatorOptions,
  challenges: Challenges,
): LoginCheck | undefined {
  if (!incoming.embedded) return undefined;
  if (!sessions) throw new ConfigError('incoming.embedded needs an authorization server in this process');
  return createLoginCheck(sessions, challenges, incoming.groups_claim ?? groupsClaim);
}

class OidcAuthenticator implements Authenticator {
  readonly warnings: readonly string[];
  readonly #verifier: TokenVerifier;
  readonly #challenges: Challenges;
  readonly #now: () => number;
  readonly #lookedUp: ((remembered: boolean) => void) | undefined;
  readonly #logins: LoginCheck | undefined;
  readonly isAlive: Authenticator['isAlive'];
  readonly #memory: TokenMemory = createTokenMemory(REMEMBERED_TOKENS);
  readonly #inFlight = new Map<string, Promise<Identity>>();
  /** Last token of each connection: comparing it costs less than hashing it. */
  readonly #lastOf = new WeakMap<object, { readonly token: string; readonly digest: string }>();

  constructor(
    verifier: TokenVerifier,
    challenges: Challenges,
    { now, lookedUp, logins }: Pick<AuthenticatorOptions, 'now' | 'lookedUp'> & { logins: LoginCheck | undefined },
    warnings: readonly string[],
  ) {
    this.#verifier = verifier;
    this.#challenges = challenges;
    this.#now = now;
    this.#lookedUp = lookedUp;
    this.#logins = logins;
    this.isAlive = logins && ((identity) => logins.isAlive(identity));
    this.warnings = warnings;
  }

  authenticate(rawHeaders: readonly string[], connection?: object): Identity | Promise<Identity> {
    const logins = this.#logins;
    const identity = this.#identify(rawHeaders, connection);
    if (logins === undefined) return identity;
    return identity instanceof Promise ? identity.then((one) => logins.admit(one)) : logins.admit(identity);
  }

  #identify(rawHeaders: readonly string[], connection: object | undefined): Identity | Promise<Identity> {
    const token = readBearer(rawHeaders, this.#challenges);
    const digest = this.#digestOf(token, connection);
    const known = this.#memory.get(digest);
    const fresh = known !== undefined && this.#now() < known.until;
    this.#lookedUp?.(fresh);
    if (!fresh) return this.#verifyOnce(token, digest);
    if (known.keys === undefined) return known.identity;
    return this.#recheck(known, token, digest);
  }

  #digestOf(token: string, connection: object | undefined): string {
    const last = connection && this.#lastOf.get(connection);
    if (last?.token === token) return last.digest;
    const digest = hash('sha256', token, 'base64');
    if (connection) this.#lastOf.set(connection, { token, digest });
    return digest;
  }

  close(): void {
    this.#memory.clear();
    this.#verifier.close();
  }

  /** Returns the cached identity if the keys are unchanged. Renews keys that have reached their maximum age first. */
  #recheck(known: RememberedToken, token: string, digest: string): Identity | Promise<Identity> {
    const keys = this.#currentKeys();
    if (!(keys instanceof Promise)) return keys === known.keys ? known.identity : this.#verifyOnce(token, digest);
    return keys.then(
      (renewed) => (renewed === known.keys ? known.identity : this.#verifyOnce(token, digest)),
      (error: unknown) => {
        throw this.#challenges.unavailable(error);
      },
    );
  }

  #currentKeys(): KeySet | Promise<KeySet> {
    try {
      return this.#verifier.keys.get();
    } catch (error) {
      throw this.#challenges.unavailable(error);
    }
  }

  #verifyOnce(token: string, digest: string): Promise<Identity> {
    const started = this.#inFlight.get(digest);
    if (started) return started;
    const verifying = this.#verify(token, digest).finally(() => this.#inFlight.delete(digest));
    this.#inFlight.set(digest, verifying);
    return verifying;
  }

  async #verify(token: string, digest: string): Promise<Identity> {
    this.#memory.delete(digest);
    const verified = await this.#verifier.verify(token);
    this.#memory.set(digest, verified);
    return verified.identity;
  }
}

function warningsOf(incoming: OidcIncoming, audience: string | undefined): readonly string[] {
  if (audience !== undefined) return [];
  return [
    `The audience of tokens is not checked: every token of ${incoming.issuer} is accepted, also those for other services. ` +
      'Set incomingAuth.resourceUrl or audience.',
  ];
}
