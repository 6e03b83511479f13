import { createHash } from 'node:crypto';
import type { AuthServer } from '#crds/run-config/auth-server';
import type { AuditEvent } from '#runtime/audit/audit';
import { CLIENT_ID, CLIENT_SECRET } from '../../../../e2e/fakes/oauth-provider/options.ts';
import type { OAuthProvider } from '../../../../e2e/fakes/oauth-provider/serve.ts';
import { createCallback } from '../handle-callback.ts';
import { createLoginEndpoints } from '../../create-login-endpoints.ts';
import { hashId } from '../../ids.ts';
import { chainOf } from '../../chain.ts';
import { linkAad } from '../../keys/aad.ts';
import { type AuthServerUrls } from '../../urls.ts';
import type { CodeRow } from '../../storage/rows.ts';
import type { AuthStorage } from '../../storage/storage.ts';
import { readCode } from '../../token-formats/authorization-code.ts';
import { createProvider } from '../../upstream/create-provider.ts';
import type { ProviderDeps } from '../../upstream/provider-deps.ts';
import type { UpstreamTokens } from '../../upstream/provider.ts';
import { openTokens } from '../../upstream-tokens/stored-tokens.ts';
import type { ChainSettings } from '../chain-settings.ts';
import { createNextStep } from '../next-step.ts';
import { loginParts, PLACE } from '../../testdata/login-parts.ts';
import { serveRoutes, type RouteServer } from '../../testdata/serve-routes.ts';

const CLIENT_REDIRECT = 'http://127.0.0.1:33418/callback';
const VERIFIER = 'v'.repeat(43);

/** Provider of the chain, with the names of the configuration. */
export interface Link {
  readonly name: string;
  readonly fake: OAuthProvider;
  readonly required?: boolean;
  /** Members of `oidc_config` or `oauth2_config`. */
  readonly config?: Readonly<Record<string, unknown>> | ((issuer: string) => Readonly<Record<string, unknown>>);
}

/** Serves the pages and login steps over HTTP, with fake providers. */
export interface LoginServer {
  readonly origin: string;
  readonly connections: string;
  readonly storage: AuthStorage;
  readonly clock: { time: number };
  readonly events: AuditEvent[];
  readonly logged: string[];
  readonly changed: string[];
  /** Returns the URL to which a client sends its user. */
  readonly authorizeUrl: (changes?: Readonly<Record<string, string>>) => string;
  readonly callbackOf: (provider: string) => string;
  /** Returns the row of the code in a redirect to the client. */
  readonly codeOf: (redirect: URL) => Promise<CodeRow | undefined>;
  /** Returns a user's tokens at one provider. */
  readonly tokensOf: (sub: string, provider: string) => Promise<UpstreamTokens | undefined>;
  /** Returns the number of pending logins. */
  readonly pending: () => Promise<number>;
  readonly close: () => Promise<void>;
}

interface Options {
  readonly config?: Readonly<Record<string, unknown>>;
  /** Wraps the storage. */
  readonly wrap?: (storage: AuthStorage) => AuthStorage;
}

export async function startLoginServer(links: readonly Link[], options: Options = {}): Promise<LoginServer> {
  const server = await serveRoutes();
  const { origin } = server;
  const setup = furnish(server, links, options);
  const { storage, settings, urls, ...noted } = setup;
  const client_id = await register(origin);
  return {
    ...noted,
    origin,
    storage,
    connections: urls.connections,
    callbackOf: urls.callback,
    authorizeUrl: (changes = {}) => `${urls.authorize}?${parameters({ client_id, ...changes })}`,
    async codeOf(redirect) {
      const id = readCode(settings.secrets, redirect.searchParams.get('code') ?? '');
      return id === undefined ? undefined : storage.getCode(hashId(id));
    },
    async tokensOf(sub, provider) {
      const row = await storage.getLink(sub, provider);
      return row && openTokens(settings.secrets, row.sealed, linkAad(PLACE, sub, provider)).tokens;
    },
    pending: async () => (await storage.sizes()).logins,
    async close() {
      await server.close();
      await Promise.all([...settings.providers().values()].map((provider) => provider.close()));
    },
  };
}

function furnish(server: RouteServer, links: readonly Link[], { config, wrap }: Options) {
  const all = { upstreams: links.map(upstreamOf), ...config };
  const parts = loginParts(server.origin, { config: all, time: Date.now(), wrap });
  const { urls, now, storage, clock } = parts;
  const [events, logged, changed]: [AuditEvent[], string[], string[]] = [[], [], []];
  const write = (message: string, fields?: unknown) => void logged.push(`${message} ${JSON.stringify(fields)}`);
  const log = { debug: write, info: write, warn: write, error: write };
  const providers = providersOf(parts.config, urls, { now, log });
  const settings: ChainSettings = {
    ...parts,
    log,
    record: (event) => void events.push(event),
    limits: parts.config.limits,
    providers: () => providers,
    codeLifespan: parts.config.token_lifespans.auth_code_lifespan,
    changed: (sub) => changed.push(sub),
    isBlocked: (sub) => parts.config.blocked_users.includes(sub),
  };
  const nextStep = createNextStep(settings);
  const endpoints = createLoginEndpoints({ ...parts, ...settings, config: parts.config, urls, nextStep });
  server.mount({ ...endpoints, callback: createCallback({ ...parts, ...settings, nextStep }) }, { log });
  return { storage, settings, urls, clock, events, logged, changed };
}

function providersOf(config: AuthServer, urls: AuthServerUrls, deps: Pick<ProviderDeps, 'now' | 'log'>) {
  const primary = chainOf(config).primary.name;
  return new Map(
    config.upstreams.map((upstream) => [
      upstream.name,
      createProvider(upstream, {
        redirectUri: urls.callback(upstream.name),
        isPrimary: upstream.name === primary,
        allowHttp: false,
        readSecret: () => CLIENT_SECRET,
        proxy: undefined,
        ...deps,
        // Distinguishes a hanging provider from a slow machine.
        deadline: 5_000,
      }),
    ]),
  );
}

function upstreamOf({ name, fake, required = true, config }: Link) {
  const more = typeof config === 'function' ? config(fake.issuer) : config;
  const client = { client_id: CLIENT_ID, client_secret_file: 'secret', ...more };
  if (fake.isOidc) return { type: 'oidc', name, required, oidc_config: { ...client, issuer_url: fake.issuer } };
  const endpoints = { authorization_endpoint: `${fake.issuer}/authorize`, token_endpoint: `${fake.issuer}/token` };
  return { type: 'oauth2', name, required, oauth2_config: { ...client, ...endpoints } };
}

async function register(origin: string): Promise<string> {
  const answer = await fetch(`${origin}/oauth/register`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ redirect_uris: [CLIENT_REDIRECT], client_name: 'A client' }),
  });
  return ((await answer.json()) as { client_id: string }).client_id;
}

function parameters(changes: Readonly<Record<string, string>>): string {
  return new URLSearchParams({
    redirect_uri: CLIENT_REDIRECT,
    response_type: 'code',
    code_challenge: createHash('sha256').update(VERIFIER).digest('base64url'),
    code_challenge_method: 'S256',
    state: 'of-the-client',
    ...changes,
  }).toString();
}
