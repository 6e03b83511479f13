import type { AuditEvent } from '#runtime/audit/audit';
import { linkAad } from '../keys/aad.ts';
import type { LinkRow } from '../storage/rows.ts';
import { StorageUnavailable, type Lease } from '../storage/storage.ts';
import { answerWithin, TooLate } from '../upstream/answer-within.ts';
import {
  UpstreamRefused,
  UpstreamUnavailable,
  type UpstreamProvider,
  type UpstreamTokens,
} from '../upstream/provider.ts';
import { LoginNeeded } from '../user-tokens.ts';
import { readLink, type LinkDeps } from './read-link.ts';
import { openLink, sealTokens, type OpenLink } from './stored-tokens.ts';

export interface RenewalDeps extends LinkDeps {
  readonly providers: () => ReadonlyMap<string, UpstreamProvider>;
  readonly record: (event: AuditEvent) => void;
  /** Waits for the given milliseconds. */
  readonly pause: (milliseconds: number) => Promise<void>;
}

/** Returns whether a link needs no renewal, because another caller has renewed it. */
export type IsFresh = (link: OpenLink) => boolean;

/** Renewals of stored tokens, one at a time across all replicas. */
export interface Renewals {
  /** @throws LoginNeeded when the provider refused (the link is marked), UpstreamUnavailable, StorageUnavailable, RequestError 503 */
  renew(sub: string, provider: string, isFresh: IsFresh): Promise<OpenLink>;
  /** Marks a link whose new tokens a backend rejects as in need of a login, unless it has other tokens by now. */
  bar(sub: string, provider: string, accessToken: string): Promise<void>;
}

/** Milliseconds. A dead holder loses the lease while others still wait. */
const LEASE = 15_000;
const WAIT = 20_000;
const LOOK_EVERY = 50;
const PROVIDER_DEADLINE = 12_000;
/** Milliseconds between attempts to store new tokens. The total covers a failover of the storage. */
const STORE_AGAIN = [100, 300, 900, 2_700];
const MAX_UNSTORED = 1_000;
const MAX_WRITERS = 10;

export function createRenewals(deps: RenewalDeps): Renewals {
  return new LinkRenewals(deps);
}

class LinkRenewals implements Renewals {
  readonly #deps: RenewalDeps;
  /** New tokens that could not be stored. They are kept, because the provider may have invalidated the former refresh token. */
  readonly #unstored = new Map<string, { readonly begun: OpenLink; readonly renewed: UpstreamTokens }>();

  constructor(deps: RenewalDeps) {
    this.#deps = deps;
  }

  async renew(sub: string, provider: string, isFresh: IsFresh): Promise<OpenLink> {
    const { storage, now, pause } = this.#deps;
    const until = now() + WAIT;
    for (;;) {
      const lease = await storage.lease(`renew|${sub}|${provider}`, LEASE);
      if (lease) return await this.#renewUnder(lease, sub, provider, isFresh);
      if (now() >= until) throw new UpstreamUnavailable('the renewal in progress does not end');
      await pause(LOOK_EVERY);
      const link = await readLink(this.#deps, sub, provider);
      if (isFresh(link)) return link;
    }
  }

  async bar(sub: string, provider: string, accessToken: string): Promise<void> {
    const link = await readLink(this.#deps, sub, provider);
    if (link.tokens.access_token !== accessToken) return;
    await this.#markRefused(sub, provider, link, 'a backend refuses its tokens, new ones too');
  }

  async #renewUnder(lease: Lease, sub: string, provider: string, isFresh: IsFresh): Promise<OpenLink> {
    let isAnswered = true;
    try {
      return await this.#renewAlone(sub, provider, isFresh);
    } catch (error) {
      isAnswered = !(error instanceof TooLate);
      throw error;
    } finally {
      // The lease expires if an answer may still arrive, or if the release fails.
      if (isAnswered) await lease.release().catch(() => undefined);
    }
  }

  async #renewAlone(sub: string, provider: string, isFresh: IsFresh): Promise<OpenLink> {
    const begun = await readLink(this.#deps, sub, provider);
    if (isFresh(begun)) return begun;
    const key = `${sub}|${provider}`;
    const left = this.#unstored.get(key);
    this.#unstored.delete(key);
    if (left && haveSameTokens(left.begun, begun)) return this.#store(sub, provider, begun, left.renewed);
    try {
      return await this.#store(sub, provider, begun, await this.#ask(sub, provider, begun));
    } catch (error) {
      if (!(error instanceof UpstreamRefused)) throw error;
      const newer = await this.#markRefused(sub, provider, begun, 'the provider refused to renew them', error);
      if (newer && isFresh(newer)) return newer;
      throw new LoginNeeded(provider, { cause: error });
    }
  }

  /** Requests new tokens. @throws UpstreamRefused, UpstreamUnavailable */
  async #ask(sub: string, name: string, begun: OpenLink): Promise<UpstreamTokens> {
    const provider = this.#deps.providers().get(name);
    if (!provider) throw new UpstreamUnavailable('there is no such provider any more');
    if (begun.tokens.refresh_token === undefined) throw new UpstreamRefused('there is no refresh token');
    const asked = provider.refresh(begun.tokens);
    try {
      return await answerWithin(asked, PROVIDER_DEADLINE);
    } catch (error) {
      if (error instanceof UpstreamRefused) throw error;
      this.#record(sub, name, 'error', 'the provider cannot be reached');
      // Tokens that arrive later are stored too.
      if (error instanceof TooLate) asked.then((late) => this.#store(sub, name, begun, late)).catch(() => undefined);
      if (error instanceof UpstreamUnavailable) throw error;
      this.#deps.log.error('a provider failed', { provider: name, error });
      throw new UpstreamUnavailable('the provider failed');
    }
  }

  /** Stores new tokens before any use. @throws StorageUnavailable; the tokens are kept for the next attempt */
  async #store(sub: string, provider: string, begun: OpenLink, renewed: UpstreamTokens): Promise<OpenLink> {
    for (const wait of [...STORE_AGAIN, undefined]) {
      try {
        return await this.#storeOnce(sub, provider, begun, renewed);
      } catch (error) {
        if (!(error instanceof StorageUnavailable)) throw error;
        if (wait === undefined) {
          if (this.#unstored.size < MAX_UNSTORED) this.#unstored.set(`${sub}|${provider}`, { begun, renewed });
          throw error;
        }
        await this.#deps.pause(wait);
      }
    }
    throw new StorageUnavailable('new tokens could not be stored');
  }

  async #storeOnce(sub: string, provider: string, begun: OpenLink, renewed: UpstreamTokens): Promise<OpenLink> {
    const { secrets, place, now } = this.#deps;
    const obtainedAt = now();
    const sealed = sealTokens(secrets, renewed, obtainedAt, linkAad(place, sub, provider));
    const changes = { sealed, expires_at: renewed.expires_at, state: 'linked' } as const;
    const row = await this.#change(sub, provider, begun, changes);
    // The link was removed, made again, or renewed by another caller; the stored one is valid.
    if (!row) return readLink(this.#deps, sub, provider);
    this.#record(sub, provider, 'success');
    return { row, tokens: renewed, obtainedAt, isStale: false };
  }

  /** Marks a link as in need of a login. @returns the link that another caller has stored in the meantime */
  async #markRefused(
    sub: string,
    provider: string,
    begun: OpenLink,
    reason: string,
    cause?: unknown,
  ): Promise<OpenLink | undefined> {
    if (!(await this.#change(sub, provider, begun, { state: 'needs_login' }))) {
      return readLink(this.#deps, sub, provider);
    }
    this.#record(sub, provider, 'failure', reason);
    this.#deps.log.info('a user has to log in at a provider again', { provider, reason, error: cause });
    return undefined;
  }

  /** Changes the link while it holds the same tokens. Returns undefined when it has other tokens. */
  async #change(
    sub: string,
    provider: string,
    begun: OpenLink,
    changes: Partial<LinkRow>,
  ): Promise<LinkRow | undefined> {
    const { storage } = this.#deps;
    for (let tries = 0; tries < MAX_WRITERS; tries++) {
      const there = await storage.getLink(sub, provider);
      if (!there || !this.#isSame(sub, provider, there, begun)) return undefined;
      const row: LinkRow = { ...there, ...changes };
      if (await storage.replaceLink(sub, provider, there.version, row)) return { ...row, version: there.version + 1 };
    }
    throw new StorageUnavailable('others write the same link all the time');
  }

  /** Returns whether the tokens are the same. The link may have been marked or sealed again since the read. */
  #isSame(sub: string, provider: string, there: LinkRow, begun: OpenLink): boolean {
    if (there.linked_at !== begun.row.linked_at) return false;
    if (there.sealed === begun.row.sealed) return true;
    const { secrets, place } = this.#deps;
    try {
      return haveSameTokens(openLink(secrets, there, linkAad(place, sub, provider)), begun);
    } catch {
      return false;
    }
  }

  #record(sub: string, provider: string, outcome: 'success' | 'failure' | 'error', reason?: string): void {
    this.#deps.record({
      type: outcome === 'success' ? 'upstream_token_refreshed' : 'upstream_token_failed',
      outcome,
      subjects: { user_id: sub },
      target: { type: 'upstream_provider', name: provider },
      ...(reason === undefined ? {} : { details: { reason } }),
    });
  }
}

function haveSameTokens(a: OpenLink, b: OpenLink): boolean {
  return a.tokens.access_token === b.tokens.access_token && a.tokens.refresh_token === b.tokens.refresh_token;
}
