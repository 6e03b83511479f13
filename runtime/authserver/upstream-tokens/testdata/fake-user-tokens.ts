import type { Identity } from '#runtime/incoming/identity';
import { LoginNeeded, type UserToken, type UserTokens } from '../../user-tokens.ts';

/** User tokens in memory, with a record of the calls. */
export interface FakeUserTokens extends UserTokens {
  /** Links a user to a provider. `next` and `nextIdToken` are the tokens after a renewal. */
  link(sub: string, provider: string, accessToken: string, options?: LinkOptions): void;
  unlink(sub: string, provider: string): void;
  /** Makes the next `get` return a promise, as after five seconds. */
  forget(): void;
  readonly renewals: string[];
  readonly bars: string[];
  readonly linkUrls: string[];
}

interface LinkOptions {
  idToken?: string;
  next?: string;
  nextIdToken?: string;
}

interface Held {
  token: UserToken;
  next: string | undefined;
  nextIdToken: string | undefined;
  refused: boolean;
}

/** Creates fake tokens. With an issuer, only its callers have tokens. */
export function fakeUserTokens(issuer?: string): FakeUserTokens {
  return new FakeTokens(issuer);
}

class FakeTokens implements FakeUserTokens {
  readonly renewals: string[] = [];
  readonly bars: string[] = [];
  readonly linkUrls: string[] = [];
  readonly #issuer: string | undefined;
  readonly #held = new Map<string, Held>();
  readonly #listeners = new Set<(sub: string) => void>();
  #isForgotten = false;

  constructor(issuer: string | undefined) {
    this.#issuer = issuer;
  }

  get(identity: Identity, provider: string): UserToken | Promise<UserToken> {
    const found = this.#find(identity, provider);
    if (found?.refused) this.#renew(identity.subject, provider, found);
    if (!found || this.#find(identity, provider) !== found) throw new LoginNeeded(provider);
    const wasForgotten = this.#isForgotten;
    this.#isForgotten = false;
    return wasForgotten ? Promise.resolve(found.token) : found.token;
  }

  renewIdToken(identity: Identity, provider: string): Promise<UserToken> {
    const found = this.#find(identity, provider);
    if (!found) throw new LoginNeeded(provider);
    this.renewals.push(found.token.accessToken);
    const { next: accessToken = found.token.accessToken, nextIdToken: idToken = found.token.idToken } = found;
    found.token = { ...found.token, accessToken, idToken };
    return Promise.resolve(found.token);
  }

  refused(identity: Identity, provider: string, accessToken: string): boolean {
    const found = this.#find(identity, provider);
    if (found && found.token.accessToken !== accessToken) return true;
    if (!found || this.renewals.length > 0) {
      this.barred(identity, provider, accessToken);
      return false;
    }
    found.refused = true;
    return true;
  }

  barred({ subject }: Identity, provider: string, accessToken: string): void {
    this.bars.push(`${subject}|${provider}|${accessToken}`);
    this.unlink(subject, provider);
  }

  linkUrl({ subject }: Identity, provider: string): Promise<string> {
    const url = `https://gateway.example/connections/link?ticket=${provider}-${subject}-${this.linkUrls.length}`;
    this.linkUrls.push(url);
    return Promise.resolve(url);
  }

  onChange(listener: (sub: string) => void): void {
    this.#listeners.add(listener);
  }

  link(sub: string, provider: string, accessToken: string, options: LinkOptions = {}): void {
    const token: UserToken = { accessToken, idToken: options.idToken, expiresAt: undefined };
    this.#held.set(`${sub}|${provider}`, {
      token,
      next: options.next,
      nextIdToken: options.nextIdToken,
      refused: false,
    });
    this.#tell(sub);
  }

  unlink(sub: string, provider: string): void {
    if (this.#held.delete(`${sub}|${provider}`)) this.#tell(sub);
  }

  forget(): void {
    this.#isForgotten = true;
  }

  #renew(sub: string, provider: string, held: Held): void {
    held.refused = false;
    this.renewals.push(held.token.accessToken);
    if (held.next === undefined) this.unlink(sub, provider);
    else held.token = { ...held.token, accessToken: held.next };
  }

  #find({ subject, issuer }: Identity, provider: string): Held | undefined {
    return this.#issuer === undefined || issuer === this.#issuer ? this.#held.get(`${subject}|${provider}`) : undefined;
  }

  #tell(sub: string): void {
    for (const listener of this.#listeners) listener(sub);
  }
}
