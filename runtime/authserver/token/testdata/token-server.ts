import { createHash, randomBytes, randomUUID } from 'node:crypto';
import { request } from 'undici';
import type { AuditEvent } from '#runtime/audit/audit';
import { AuthServer } from '#crds/run-config/auth-server';
import { hashId, newId } from '../../ids.ts';
import { createSecretRing, type RotatingSecretRing } from '#runtime/keys/create-secret-ring';
import { createSigningKeys, type RotatingSigningKeys } from '../../keys/create-signing-keys.ts';
import type { KeyFile } from '#runtime/keys/key-file';
import { createJwksHandler, createMetadataHandler } from '../../metadata.ts';
import { createClients } from '../../register/find-client.ts';
import { createMemoryStorage } from '../../storage/memory.ts';
import type { AuthorizeRequest, LinkRow, UserProfile } from '../../storage/rows.ts';
import type { AuthStorage } from '../../storage/storage.ts';
import { writeCode } from '../../token-formats/authorization-code.ts';
import { createIntrospectToken } from '../introspect-token.ts';
import { createRevokeToken } from '../revoke-token.ts';
import { createIssueTokens } from '../issue-tokens.ts';
import type { TokenSettings } from '../token-settings.ts';
import { KEY_SETS, registeredClients } from '../../testdata/registered-clients.ts';
import { openAssertionIssuers } from '../../assertions/assertion-issuers.ts';
import { READS_NOTHING } from '#runtime/policy/policy-reads';
import { RESOURCE, serveRoutes, type RouteServer } from '../../testdata/serve-routes.ts';

export const START = 1_800_000_000_000;
export { RESOURCE };
export const REDIRECT = 'http://127.0.0.1:33418/callback';
export const VERIFIER = 'dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk';
export const CHALLENGE = createHash('sha256').update(VERIFIER).digest('base64url');
export const SECRETS: readonly KeyFile[] = [{ file: 'first', content: Buffer.from('a'.repeat(32)) }];

export const alice: UserProfile = {
  issuer: 'https://login.okta.example',
  subject: 'alice',
  sub: hashId('["https://login.okta.example","alice"]'),
  name: 'Alice',
  email: 'alice@example.com',
  email_verified: true,
  claims: { groups: ['dev'] },
};

/** Raw JSON answer. */
export interface Came {
  readonly status: number;
  readonly headers: Record<string, string | string[] | undefined>;
  readonly text: string;
  readonly body: {
    readonly access_token: string;
    readonly refresh_token: string;
    readonly expires_in: number;
    readonly scope: string;
    readonly error: string;
    readonly error_description: string;
    readonly active: boolean;
  } & Record<string, unknown>;
}

type Form = Readonly<Record<string, string>> | readonly (readonly [string, string])[];

/** Serves the token endpoints over HTTP. */
export interface TokenServer {
  readonly origin: string;
  readonly settings: TokenSettings;
  readonly storage: AuthStorage;
  readonly secrets: RotatingSecretRing;
  readonly keys: RotatingSigningKeys;
  readonly clock: { time: number };
  readonly events: AuditEvent[];
  readonly ended: string[];
  /** Names of the operations that reached the storage. */
  readonly looks: string[];
  post(path: string, form: Form, headers?: Readonly<Record<string, string>>): Promise<Came>;
  send(method: 'GET' | 'POST' | 'OPTIONS' | 'DELETE', path: string, body?: string, type?: string): Promise<Came>;
  /** Registers a client. @returns its id */
  client(): Promise<string>;
  /** Stores a finished login of a client. @returns the code */
  code(clientId: string, changes?: Partial<AuthorizeRequest>, user?: UserProfile): Promise<string>;
  redeem(code: string, clientId: string, changes?: Readonly<Record<string, string>>): Promise<Came>;
  refresh(token: string, clientId: string, changes?: Readonly<Record<string, string>>): Promise<Came>;
  /** Registers a client and creates its session. */
  login(): Promise<{ clientId: string; tokens: Came['body'] }>;
  close(): Promise<void>;
}

interface TokenServerOptions {
  readonly secretFiles?: readonly KeyFile[];
  readonly keyFiles?: readonly KeyFile[];
  readonly storage?: AuthStorage;
  readonly clock?: { time: number };
  readonly config?: Readonly<Record<string, unknown>>;
  readonly introspection?: boolean;
  readonly settings?: Partial<TokenSettings>;
  readonly links?: Readonly<Record<string, Partial<LinkRow>>>;
}

const DAY = 86_400_000;
const FORM = 'application/x-www-form-urlencoded';

export async function startTokenServer(options: TokenServerOptions = {}): Promise<TokenServer> {
  const clock = options.clock ?? { time: START };
  const now = () => clock.time;
  const looks: string[] = [];
  const storage = watched(options.storage ?? createMemoryStorage({ now }), looks);
  const secrets = createSecretRing(options.secretFiles ?? SECRETS, { now, random: randomBytes });
  const keys = await createSigningKeys(options.keyFiles ?? [], { now });
  const server = await serveRoutes();
  const { origin } = server;
  const config = AuthServer.parse({
    issuer: origin,
    upstreams: [{ type: 'oidc', name: 'okta', oidc_config: { client_id: 'v', issuer_url: alice.issuer } }],
    ...options.config,
  });
  const noted = { events: [] as AuditEvent[], ended: [] as string[] };
  const settings = { ...settingsOf(config, { storage, secrets, keys, now, ...noted }), ...options.settings };
  mountOn(server, config, settings, options.introspection === true);
  const parts = { origin, settings, storage, secrets, keys, clock, looks, ...noted };
  return { ...parts, ...requestsTo(origin), ...actionsOn(parts, options), close: server.close };
}

type Config = ReturnType<(typeof AuthServer)['parse']>;

function settingsOf(
  config: Config,
  parts: Pick<TokenServer, 'storage' | 'secrets' | 'keys' | 'events' | 'ended'> & { readonly now: () => number },
): TokenSettings {
  const { issuer, token_lifespans: lifespans, scopes_supported: scopesSupported } = config;
  const { storage, now, events, ended } = parts;
  const known = new Map();
  const registered = registeredClients(config, now);
  return {
    ...parts,
    known,
    registered,
    issuer,
    scopesSupported,
    newId,
    newJti: randomUUID,
    lifespans: { access: lifespans.access_token_lifespan, refresh: lifespans.refresh_token_lifespan },
    clients: createClients({ storage, documents: undefined, registered, now }),
    resources: [RESOURCE],
    assertions: {
      issuers: openAssertionIssuers(config, { ...KEY_SETS, now }),
      reads: () => READS_NOTHING,
      log: KEY_SETS.log,
    },
    isBlocked: (sub) => config.blocked_users.includes(sub),
    requiredProviders: ['okta'],
    revalidate: () => Promise.resolve(),
    ended(key) {
      known.delete(key);
      ended.push(key);
    },
    record: (event) => events.push(event),
  };
}

function mountOn(server: RouteServer, config: Config, settings: TokenSettings, introspection: boolean): void {
  const clients = introspection
    ? [
        { clientId: 'gate', readSecret: () => 's3cret&+ü' },
        { clientId: 'empty', readSecret: () => '' },
      ]
    : [];
  const urls = [config.issuer, config.authorization_endpoint_base_url ?? config.issuer];
  server.mount(
    {
      token: createIssueTokens(settings),
      revoke: createRevokeToken(settings),
      introspect: createIntrospectToken(clients, settings),
      metadata: createMetadataHandler(config),
      jwks: createJwksHandler(settings.keys),
    },
    { basePaths: [...new Set(urls.map((url) => new URL(url).pathname.replace(/\/$/, '')))] },
  );
}

function requestsTo(origin: string): Pick<TokenServer, 'send' | 'post' | 'redeem' | 'refresh'> {
  const send: TokenServer['send'] = (method, path, body, type = FORM) =>
    call(origin + path, { method, headers: body === undefined ? {} : { 'content-type': type }, body });
  const post: TokenServer['post'] = (path, form, headers) => {
    const body = new URLSearchParams(form as Record<string, string>).toString();
    return call(origin + path, { method: 'POST', headers: { 'content-type': FORM, ...headers }, body });
  };
  return {
    send,
    post,
    redeem: (code, client_id, changes = {}) => {
      const form = { grant_type: 'authorization_code', code, client_id, redirect_uri: REDIRECT };
      return post('/oauth/token', { ...form, code_verifier: VERIFIER, resource: RESOURCE, ...changes });
    },
    refresh: (refresh_token, client_id, changes = {}) =>
      post('/oauth/token', { grant_type: 'refresh_token', refresh_token, client_id, ...changes }),
  };
}

function actionsOn(
  { storage, secrets, origin, clock }: Pick<TokenServer, 'storage' | 'secrets' | 'origin' | 'clock'>,
  options: TokenServerOptions,
): Pick<TokenServer, 'client' | 'code' | 'login'> {
  const client = async () => {
    const client_id = newId();
    const row = { client_name: 'app', redirect_uris: [REDIRECT], grant_types: [], scope: undefined };
    const all = { ...row, client_id, application_type: undefined, registered_at: clock.time };
    await storage.put('client', hashId(client_id), all, { lifespan: 30 * DAY });
    return client_id;
  };
  const code: TokenServer['code'] = async (client_id, changes = {}, user = alice) => {
    const request = {
      client_id,
      redirect_uri: REDIRECT,
      state: undefined,
      code_challenge: CHALLENGE,
      scope: ['mcp', 'offline_access'],
      resource: RESOURCE,
      ...changes,
    };
    const id = newId();
    const links = Object.entries(options.links ?? { okta: {} }).map(([name, more]) => [name, linkOf(user, more)]);
    await storage.finishLogin({
      sub: user.sub,
      links: Object.fromEntries(links) as Record<string, LinkRow>,
      code: { id: hashId(id), row: { request, user }, lifespan: 600_000 },
      lifespan: 30 * DAY,
    });
    return writeCode(secrets, id);
  };
  return {
    client,
    code,
    async login() {
      const clientId = await client();
      const { body } = await requestsTo(origin).redeem(await code(clientId), clientId);
      return { clientId, tokens: body };
    },
  };
}

function linkOf(account: UserProfile, more: Partial<LinkRow>): LinkRow {
  const times = { expires_at: undefined, linked_at: START };
  return { account, sealed: 'k.iv.text', state: 'linked', version: 0, ...times, ...more };
}

/** Records the name of each operation. */
function watched(storage: AuthStorage, looks: string[]): AuthStorage {
  return new Proxy(storage, {
    get(target, name) {
      const member: unknown = Reflect.get(target, name, target);
      if (typeof member !== 'function') return member;
      return (...args: unknown[]) => {
        looks.push(String(name));
        return (member as (...all: unknown[]) => unknown).apply(target, args);
      };
    },
  });
}

async function call(
  url: string,
  { method, headers, body }: { method: string; headers: Record<string, string>; body: string | undefined },
): Promise<Came> {
  const answer = await request(url, { method, headers, ...(body !== undefined && { body }) });
  const text = await answer.body.text();
  const isJson = answer.headers['content-type']?.includes('json');
  return {
    status: answer.statusCode,
    headers: answer.headers,
    text,
    body: (isJson ? JSON.parse(text) : {}) as Came['body'],
  };
}
