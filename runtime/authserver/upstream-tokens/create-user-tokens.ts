import { RequestError } from '#runtime/errors';
import type { Identity } from '#runtime/incoming/identity';
import type { UpstreamTokens } from '../upstream/provider.ts';
import { LoginNeeded, type UserToken, type UserTokens } from '../user-tokens.ts';
import { AwaitedLinks } from './awaited-links.ts';
import { LinkUrls } from './link-urls.ts';
import { publicError } from './public-error.ts';
import { readLink } from './read-link.ts';
import { createRenewals, type IsFresh, type RenewalDeps, type Renewals } from './renew-link.ts';
import { timesOf, type OpenLink } from './stored-tokens.ts';
import { TokenSlots, type TokenSlot } from './token-slots.ts';

interface UserTokensOptions extends Omit<RenewalDeps, 'pause'> {
  readonly issuer: string;
  readonly connectionsUrl: string;
  readonly pause?: RenewalDeps['pause'];
}

export interface StoredUserTokens extends UserTokens {
  changed(sub: string): void;
  /**
   * Returns tokens issued after `since` (milliseconds since the epoch), renewed if needed, once for all replicas. A renewal confirms the
   * user. @throws LoginNeeded when the provider refused (the link is marked), UpstreamUnavailable, StorageUnavailable, RequestError 503
   */
  renewed(sub: string, provider: string, since: number): Promise<UpstreamTokens>;
  close(): void;
}

const KNOWN_FOR = 5_000;
/** Short, so that a login at another replica takes effect soon. */
const LACKING_FOR = 1_000;
const FAILED_FOR = 2_000;
/** Milliseconds between renewal attempts while the present token is valid. */
const RENEW_AGAIN = 5_000;
const REPLACEMENT_JUDGED_FOR = 60_000;

/** Creates the access to the users' provider tokens. Reads are cached for 5 s. The caller must close it. */
export function createUserTokens(options: UserTokensOptions): StoredUserTokens {
  return new LinkedTokens(options);
}

class LinkedTokens implements StoredUserTokens {
  readonly #options: UserTokensOptions;
  readonly #issuer: string;
  readonly #now: () => number;
  readonly #renewals: Renewals;
  readonly #slots: TokenSlots;
  readonly #awaited: AwaitedLinks;
  readonly #linkUrls: LinkUrls;
  readonly #listeners = new Set<(sub: string) => void>();

  constructor(options: UserTokensOptions) {
    this.#options = options;
    this.#issuer = options.issuer;
    this.#now = options.now;
    this.#renewals = createRenewals({ ...options, pause: options.pause ?? pause });
    this.#slots = new TokenSlots(options.now);
    this.#awaited = new AwaitedLinks(options, (sub) => this.changed(sub));
    this.#linkUrls = new LinkUrls({ ...options, issued: (sub, provider) => this.#awaited.add(sub, provider) });
  }

  get(identity: Identity, provider: string): UserToken | Promise<UserToken> {
    if (identity.issuer === this.#issuer) {
      const slot = this.#slots.find(provider, identity.subject);
      if (slot?.token !== undefined && slot.refused === undefined) {
        const now = this.#now();
        if (now < slot.knownUntil && now < slot.renewAt) return slot.token;
      }
    }
    return this.#lookUp(this.#subjectOf(identity), provider);
  }

  async renewIdToken(
    identity: Identity,
    provider: string,
    isCurrent: (idToken: string | undefined) => boolean,
  ): Promise<UserToken> {
    const sub = this.#subjectOf(identity);
    const slot = this.#slots.open(provider, sub);
    try {
      const isFresh: IsFresh = (link) => isCurrent(link.tokens.id_token) || link.tokens.refresh_token === undefined;
      return this.#keep(slot, sub, await this.#renewals.renew(sub, provider, isFresh));
    } catch (error) {
      if (!(error instanceof LoginNeeded)) throw publicError(error, provider, this.#options.log);
      this.#lacks(slot, sub);
      throw error;
    }
  }

  refused(identity: Identity, provider: string, accessToken: string): boolean {
    const sub = this.#subjectOf(identity);
    const slot = this.#slots.open(provider, sub);
    if (slot.barred === accessToken) return false;
    // When many calls are rejected together, the first one renews for all.
    if (slot.token !== undefined && slot.token.accessToken !== accessToken) return true;
    if (slot.replacement !== accessToken || this.#now() >= slot.replacementUntil) {
      slot.refused = accessToken;
      return true;
    }
    this.#bar(slot, sub, provider, accessToken);
    return false;
  }

  barred(identity: Identity, provider: string, accessToken: string): void {
    const sub = this.#subjectOf(identity);
    const slot = this.#slots.open(provider, sub);
    const isOther = slot.token !== undefined && slot.token.accessToken !== accessToken;
    if (!isOther && slot.barred !== accessToken) this.#bar(slot, sub, provider, accessToken);
  }

  async linkUrl(identity: Identity, provider: string): Promise<string> {
    const sub = this.#subjectOf(identity);
    if (sub === identity.clientId) throw hasNoAccounts(provider);
    try {
      return await this.#linkUrls.of(sub, provider);
    } catch (error) {
      throw publicError(error, provider, this.#options.log);
    }
  }

  onChange(listener: (sub: string) => void): void {
    this.#listeners.add(listener);
  }

  changed(sub: string): void {
    this.#awaited.forget(sub);
    this.#linkUrls.forget(sub);
    for (const slot of this.#slots.of(sub)) {
      slot.token = undefined;
      slot.knownUntil = slot.lacksUntil = slot.failedUntil = 0;
      slot.isLinked = undefined;
    }
    this.#tell(sub);
  }

  async renewed(sub: string, provider: string, since: number): Promise<UpstreamTokens> {
    const slot = this.#slots.open(provider, sub);
    try {
      const link = await this.#renewals.renew(sub, provider, ({ obtainedAt }) => obtainedAt > since);
      this.#keep(slot, sub, link);
      return link.tokens;
    } catch (error) {
      if (error instanceof LoginNeeded) this.#lacks(slot, sub);
      throw error;
    }
  }

  close(): void {
    this.#awaited.close();
    this.#listeners.clear();
  }

  /** Returns the `sub` of a token of this server. A `sub` of another issuer must not name a user here. */
  #subjectOf(identity: Identity): string {
    if (identity.issuer === this.#issuer && identity.token !== undefined) return identity.subject;
    throw new RequestError({
      status: 200,
      code: 'no_user',
      text: 'This needs a caller who has signed in here',
      rpc: { code: -32603 },
    });
  }

  #lookUp(sub: string, provider: string): UserToken | Promise<UserToken> {
    const slot = this.#slots.open(provider, sub);
    const now = this.#now();
    if (now < slot.lacksUntil) throw new LoginNeeded(provider);
    if (now < slot.failedUntil && slot.failure) throw slot.failure;
    if (slot.token !== undefined && slot.refused === undefined && now < slot.knownUntil && now < slot.usableUntil) {
      this.#renewMeanwhile(slot, sub, provider);
      return slot.token;
    }
    return (slot.reading ??= this.#read(slot, sub, provider).finally(() => {
      slot.reading = undefined;
    }));
  }

  async #read(slot: TokenSlot, sub: string, provider: string): Promise<UserToken> {
    try {
      const link = await readLink(this.#options, sub, provider);
      if (link.tokens.access_token === slot.barred) throw new LoginNeeded(provider);
      const token = this.#keep(slot, sub, link);
      const { usableUntil, renewAt } = slot;
      if (slot.refused !== undefined || this.#now() >= usableUntil) return await this.#renew(slot, sub, provider);
      if (this.#now() >= renewAt) this.#renewMeanwhile(slot, sub, provider);
      return token;
    } catch (error) {
      if (error instanceof LoginNeeded) {
        this.#lacks(slot, sub);
        throw error;
      }
      slot.failure = publicError(error, provider, this.#options.log);
      slot.failedUntil = this.#now() + FAILED_FOR;
      throw slot.failure;
    }
  }

  /** Renews while the present token is still valid. A failed renewal is repeated a little later. */
  #renewMeanwhile(slot: TokenSlot, sub: string, provider: string): void {
    slot.renewAt = Math.min(this.#now() + RENEW_AGAIN, slot.usableUntil);
    this.#renew(slot, sub, provider).catch((error: unknown) => {
      if (error instanceof LoginNeeded) this.#lacks(slot, sub);
      else this.#options.log.warn('a token could not be renewed; the present one still serves', { provider, error });
    });
  }

  #renew(slot: TokenSlot, sub: string, provider: string): Promise<UserToken> {
    slot.renewing ??= this.#renewOnce(slot, sub, provider).finally(() => {
      slot.renewing = undefined;
    });
    return slot.renewing;
  }

  async #renewOnce(slot: TokenSlot, sub: string, provider: string): Promise<UserToken> {
    const { refused } = slot;
    const isFresh: IsFresh = (link) =>
      refused === undefined ? this.#now() < timesOf(link).renewAt : link.tokens.access_token !== refused;
    const link = await this.#renewals.renew(sub, provider, isFresh);
    if (refused !== undefined) {
      slot.replacement = link.tokens.access_token;
      slot.replacementUntil = this.#now() + REPLACEMENT_JUDGED_FOR;
    }
    if (slot.refused === refused) slot.refused = undefined;
    return this.#keep(slot, sub, link);
  }

  #keep(slot: TokenSlot, sub: string, link: OpenLink): UserToken {
    const { access_token: accessToken, id_token: idToken, expires_at: expiresAt } = link.tokens;
    const now = this.#now();
    const { renewAt, usableUntil } = timesOf(link);
    // An unchanged token stays the same object, because callers cache values by this object.
    if (slot.token?.accessToken !== accessToken || slot.token.expiresAt !== expiresAt || slot.token.idToken !== idToken)
      slot.token = { accessToken, idToken, expiresAt };
    if (slot.refused !== accessToken) slot.refused = undefined;
    slot.knownUntil = now + KNOWN_FOR;
    slot.renewAt = renewAt;
    slot.usableUntil = usableUntil;
    slot.lacksUntil = 0;
    slot.failedUntil = 0;
    this.#note(slot, sub, true);
    return slot.token;
  }

  #bar(slot: TokenSlot, sub: string, provider: string, accessToken: string): void {
    slot.barred = accessToken;
    this.#lacks(slot, sub);
    this.#renewals.bar(sub, provider, accessToken).catch((error: unknown) => {
      if (!(error instanceof LoginNeeded)) this.#options.log.warn('a link could not be marked', { provider, error });
    });
  }

  #lacks(slot: TokenSlot, sub: string): void {
    slot.token = undefined;
    slot.lacksUntil = this.#now() + LACKING_FOR;
    this.#note(slot, sub, false);
  }

  /** Reports changes that another replica made too, as soon as a read finds them. */
  #note(slot: TokenSlot, sub: string, isLinked: boolean): void {
    const before = slot.isLinked;
    slot.isLinked = isLinked;
    if (before !== undefined && before !== isLinked) this.#tell(sub);
  }

  #tell(sub: string): void {
    for (const listener of this.#listeners) listener(sub);
  }
}

function pause(milliseconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds));
}

/** A client that got its token by client credentials is its own subject. No user can log in as it. */
function hasNoAccounts(provider: string): RequestError {
  return new RequestError({
    status: 200,
    code: 'client_has_no_accounts',
    text: `A client that acts as itself has no account at ${provider}: call in the name of a user`,
    rpc: { code: -32603 },
  });
}
