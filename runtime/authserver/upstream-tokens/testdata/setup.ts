import { randomBytes } from 'node:crypto';
import type { AuditEvent } from '#runtime/audit/audit';
import type { Identity } from '#runtime/incoming/identity';
import { createSecretRing, type RotatingSecretRing } from '#runtime/keys/create-secret-ring';
import { linkAad } from '../../keys/aad.ts';
import type { LinkRow } from '../../storage/rows.ts';
import { StorageUnavailable, type AuthStorage } from '../../storage/storage.ts';
import { createSharedStorage } from '../../testdata/shared-storage.ts';
import type { UpstreamProvider, UpstreamTokens } from '../../upstream/provider.ts';
import { createUserTokens, type StoredUserTokens } from '../create-user-tokens.ts';

export const START = Date.UTC(2030, 0, 1);
export const HOUR = 3_600_000;
const ISSUER = 'https://gateway.example';
const PLACE = { namespace: 'ns', name: 'gw', uid: 'uid' };

type Refresh = (tokens: UpstreamTokens) => Promise<UpstreamTokens>;

/** One storage, one provider and any number of replicas on one clock, which only the test moves. */
export interface Setup {
  clock: number;
  readonly storage: AuthStorage;
  /** Returns whether an operation fails now. */
  failing: (operation: string) => boolean;
  readonly reads: () => number;
  readonly secrets: RotatingSecretRing;
  readonly secretFiles: { file: string; content: Uint8Array }[];
  /** Answer of the providers, and the number of their calls. */
  refresh: Refresh;
  refreshes: number;
  readonly events: AuditEvent[];
  readonly logged: string[];
  replica(): StoredUserTokens;
  /** Links a user to a provider. */
  link(sub: string, tokens?: Partial<UpstreamTokens>, provider?: string): Promise<void>;
  row(sub: string, provider?: string): Promise<LinkRow | undefined>;
  close(): void;
}

export function createSetup(): Setup {
  const secretFiles = [{ file: 'one', content: randomBytes(32) }];
  const time = { clock: START };
  const now = () => time.clock;
  const memory = createSharedStorage(now);
  const { storage, reads } = failingStorage(memory, (operation) => setup.failing(operation));
  const replicas = createReplicas(() => setup, now);
  const setup: Setup = {
    get clock() {
      return time.clock;
    },
    set clock(clock) {
      time.clock = clock;
    },
    storage,
    failing: () => false,
    reads,
    secrets: createSecretRing(secretFiles, { now, random: randomBytes }),
    secretFiles,
    refresh: (tokens) => Promise.resolve(renewedTokens(tokens, setup.clock)),
    refreshes: 0,
    events: [],
    logged: [],
    replica: replicas.open,
    async link(sub, tokens = {}, provider = 'github') {
      const all = { ...firstTokens(setup.clock), ...tokens };
      const row: LinkRow = {
        account: { issuer: 'i', subject: sub, name: undefined, email: undefined, email_verified: undefined },
        sealed: setup.secrets.seal(JSON.stringify(all), linkAad(PLACE, sub, provider)),
        expires_at: all.expires_at,
        linked_at: setup.clock,
        state: 'linked',
        version: 0,
      };
      await memory.finishLogin({ sub, links: { [provider]: row }, code: undefined, lifespan: 10_000 * HOUR });
    },
    row: (sub, provider = 'github') => memory.getLink(sub, provider),
    close: replicas.close,
  };
  return setup;
}

function failingStorage(memory: AuthStorage, failing: Setup['failing']) {
  let reads = 0;
  const storage = new Proxy(memory, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name);
      if (typeof value !== 'function') return value;
      return (...args: unknown[]): unknown => {
        if (name === 'getLink') reads++;
        if (failing(String(name))) return Promise.reject(new StorageUnavailable('down'));
        return Reflect.apply(value, target, args);
      };
    },
  });
  return { storage, reads: () => reads };
}

function createReplicas(setup: () => Setup, now: () => number) {
  const opened: StoredUserTokens[] = [];
  const providers = new Map(['github', 'google'].map((name) => [name, fakeProvider(name, setup)]));
  const write = (message: string, fields?: Record<string, unknown>) => {
    setup().logged.push(`${message} ${JSON.stringify(fields)} ${String(fields?.error)}`);
  };
  const open = () => {
    const { storage, secrets, events } = setup();
    const tokens = createUserTokens({
      storage,
      secrets,
      place: PLACE,
      now,
      log: { debug: write, info: write, warn: write, error: write },
      providers: () => providers,
      record: (event) => events.push(event),
      issuer: ISSUER,
      connectionsUrl: `${ISSUER}/connections`,
      pause: async (milliseconds) => {
        setup().clock += milliseconds;
        await new Promise((resolve) => setImmediate(resolve));
      },
    });
    opened.push(tokens);
    return tokens;
  };
  const close = () => {
    for (const tokens of opened) tokens.close();
  };
  return { open, close };
}

function fakeProvider(name: string, setup: () => Setup): UpstreamProvider {
  const never = () => Promise.reject(new Error('not asked here'));
  return {
    name,
    authorizationUrl: never,
    finish: never,
    identify: never,
    close: () => Promise.resolve(),
    refresh: (tokens) => {
      setup().refreshes++;
      return setup().refresh(tokens);
    },
  };
}

function firstTokens(now: number): UpstreamTokens {
  return {
    access_token: 'access-0',
    refresh_token: 'refresh-0',
    expires_at: now + HOUR,
    scope: undefined,
    id_token: 'id-0',
  };
}

/** Returns the tokens of a provider that rotates its refresh tokens: `access-1` follows `access-0`. */
export function renewedTokens({ refresh_token: last }: UpstreamTokens, now: number): UpstreamTokens {
  const count = Number(last?.split('-')[1]) + 1;
  return {
    access_token: `access-${count}`,
    refresh_token: `refresh-${count}`,
    expires_at: now + HOUR,
    scope: undefined,
    id_token: `id-${count}`,
  };
}

export function caller(subject: string, issuer = ISSUER): Identity {
  return {
    issuer,
    subject,
    clientId: 'client',
    scopes: [],
    groups: [],
    claims: {},
    key: JSON.stringify([issuer, subject]),
    token: `jwt-of-${subject}`,
    expiresAt: Infinity,
  };
}
