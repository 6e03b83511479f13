import { hash, randomBytes } from 'node:crypto';
import { z } from 'zod';
import type { RemoteAuth } from '#crds/run-config/outgoing';
import { nameRemoteRecords, type RemoteRecords } from '#crds/run-config/remote-record';
import { hashId } from '#runtime/authserver/ids';
import { linkAad, pendingAad } from '#runtime/authserver/keys/aad';
import { openStorage } from '#runtime/authserver/storage/open-storage';
import type { LinkRow, LoginRow } from '#runtime/authserver/storage/rows';
import type { AuthStorage } from '#runtime/authserver/storage/storage';
import { sealTokens } from '#runtime/authserver/upstream-tokens/stored-tokens';
import type { UpstreamTokens } from '#runtime/authserver/upstream/provider';
import { createSecretRing } from '#runtime/keys/create-secret-ring';
import type { SecretRing } from '#runtime/keys/secret-ring';
import { RemoteClient } from './registered-client.ts';

/** Owner of the tokens: all callers of the MCPServer. No user has this name. */
export const SHARED = 'shared';
/** Milliseconds of non-use after which refresh tokens are useless. */
const LIFESPAN = 10 * 365 * 24 * 3_600_000;
const MAX_PENDING = 100;

const PendingLogin = z.object({
  verifier: z.string(),
  redirect_uri: z.string(),
  client: RemoteClient,
  /** Hash of the cookie of the browser that began the login; empty: any browser with the link. */
  browser: z.string(),
});
type PendingLogin = z.infer<typeof PendingLogin>;

interface StoreDeps {
  readonly url: string;
  readonly readFile: (file: string) => string;
  readonly readBytes: (file: string) => Uint8Array;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
}

export interface RemoteStore {
  readonly storage: AuthStorage;
  readonly secrets: SecretRing;
  /** Key of the records, over all settings about sender and receiver of the tokens: after a change, former records are not found. */
  readonly id: string;
  registered(): Promise<RemoteClient | undefined>;
  keepRegistered(client: RemoteClient): Promise<void>;
  forgetRegistered(): Promise<void>;
  /** Returns the client that received the tokens; the registered client may be a newer one. */
  holder(): Promise<RemoteClient | undefined>;
  keepTokens(tokens: UpstreamTokens, holder: RemoteClient): Promise<void>;
  forgetTokens(): Promise<void>;
  /** Returns whether there are tokens that the server has not refused. */
  hasTokens(): Promise<boolean>;
  keepPending(state: string, pending: PendingLogin, lifespan: number): Promise<void>;
  /** Returns a pending login and removes it. Undefined: no such login, or another browser began it, for which it is kept. */
  takePending(state: string, browser: string): Promise<PendingLogin | undefined>;
  close(): Promise<void>;
}

/** @throws ConfigError */
export async function openRemoteStore(auth: RemoteAuth, deps: StoreDeps): Promise<RemoteStore> {
  const files = auth.sealing_secret_files.map((file) => ({ file, content: deps.readBytes(file) }));
  const secrets = createSecretRing(files, { now: deps.now, random: randomBytes });
  const storage = await openStorage(auth.storage, { now: deps.now, readSecret: deps.readFile });
  return new SealedStore(auth, deps, { storage, secrets });
}

class SealedStore implements RemoteStore {
  readonly storage: AuthStorage;
  readonly secrets: SecretRing;
  readonly #names: RemoteRecords;
  readonly #owner: RemoteAuth['owner'];
  readonly #now: () => number;

  constructor(auth: RemoteAuth, { url, now }: StoreDeps, parts: { storage: AuthStorage; secrets: SecretRing }) {
    this.storage = parts.storage;
    this.secrets = parts.secrets;
    this.#names = nameRemoteRecords({ ...auth, url }, (text) => hash('sha256', text, 'hex'));
    this.#owner = auth.owner;
    this.#now = now;
  }

  get id(): string {
    return this.#names.tokens;
  }

  registered(): Promise<RemoteClient | undefined> {
    return this.#client('client');
  }

  async keepRegistered(client: RemoteClient): Promise<void> {
    await this.#keep(this.#clientRow('client', client));
  }

  async forgetRegistered(): Promise<void> {
    await this.storage.unlink(SHARED, this.#names.client);
  }

  holder(): Promise<RemoteClient | undefined> {
    return this.#client('holder');
  }

  async keepTokens(tokens: UpstreamTokens, holder: RemoteClient): Promise<void> {
    const sealed = sealTokens(this.secrets, tokens, this.#now(), linkAad(this.#owner, SHARED, this.id));
    await this.#keep({ [this.id]: this.#row(sealed, tokens.expires_at), ...this.#clientRow('holder', holder) });
  }

  async forgetTokens(): Promise<void> {
    await this.storage.unlink(SHARED, this.id);
    await this.storage.unlink(SHARED, this.#names.holder);
  }

  async hasTokens(): Promise<boolean> {
    return (await this.storage.getLink(SHARED, this.id))?.state === 'linked';
  }

  async keepPending(state: string, pending: PendingLogin, lifespan: number): Promise<void> {
    const id = hashId(state);
    const secrets = this.secrets.seal(JSON.stringify(pending), pendingAad(this.#owner, id, this.id));
    const row: LoginRow = {
      id,
      purpose: 'link',
      request: undefined,
      browser: pending.browser,
      step: 'provider',
      remaining: [],
      login_step: { provider: this.id, secrets },
      user: undefined,
      links: {},
      sub: SHARED,
      ends_at: this.#now() + lifespan,
    };
    await this.storage.put('login', id, row, { lifespan, capacity: MAX_PENDING });
  }

  async takePending(state: string, browser: string): Promise<PendingLogin | undefined> {
    const id = hashId(state);
    if ((await this.storage.get('login', id))?.browser !== browser) return undefined;
    const row = await this.storage.take('login', id);
    if (row?.login_step?.provider !== this.id || row.sub !== SHARED || this.#now() >= row.ends_at) return undefined;
    return PendingLogin.safeParse(this.#unsealed(row.login_step.secrets, pendingAad(this.#owner, id, this.id))).data;
  }

  async close(): Promise<void> {
    await this.storage.close();
  }

  async #client(which: 'client' | 'holder'): Promise<RemoteClient | undefined> {
    const id = this.#names[which];
    const row = await this.storage.getLink(SHARED, id);
    return row && RemoteClient.safeParse(this.#unsealed(row.sealed, linkAad(this.#owner, SHARED, id))).data;
  }

  #clientRow(which: 'client' | 'holder', client: RemoteClient): Record<string, LinkRow> {
    const id = this.#names[which];
    const sealed = this.secrets.seal(JSON.stringify(client), linkAad(this.#owner, SHARED, id));
    return { [id]: this.#row(sealed, undefined) };
  }

  #row(sealed: string, expiresAt: number | undefined): LinkRow {
    const linkedAt = this.#now();
    return { account: undefined, sealed, expires_at: expiresAt, linked_at: linkedAt, state: 'linked', version: 0 };
  }

  async #keep(links: Record<string, LinkRow>): Promise<void> {
    await this.storage.finishLogin({ sub: SHARED, links, code: undefined, lifespan: LIFESPAN });
  }

  /** Returns the content; undefined if its secret is gone, or the row belongs elsewhere. */
  #unsealed(sealed: string, aad: string): unknown {
    try {
      return JSON.parse(this.secrets.open(sealed, aad).plain);
    } catch {
      return undefined;
    }
  }
}
