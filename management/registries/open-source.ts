import type * as oidc from 'openid-client';
import type { ProxySettings } from '#lib/connections/proxy';
import { PRIVATE_OFF } from '../fetching/check-target.ts';
import { FetchFailure } from '../fetching/fetch-failure.ts';
import { createHttpClient, type HttpClient } from '../fetching/http-client.ts';
import { discoverIssuer } from './discover-issuer.ts';
import type { Page } from './page.ts';
import { READ_SOURCE } from './read-source.ts';
import type { RegistryQuota } from './registry-quota.ts';
import { RegistryLogin } from './registry-login.ts';
import { type RegistrySettings, secretOf, sourceOf } from './registry-settings.ts';

export interface SourceDeps {
  privateAddresses: boolean;
  proxy: ProxySettings | undefined;
  readSecret: (secret: { name: string; key: string }) => Promise<string | undefined>;
  /** Milliseconds since 1970. */
  now: () => number;
  quota: Pick<RegistryQuota, 'maxWeight'>;
}

/** Milliseconds. A silent host is given up within 10 s. */
const PATIENCE = { connect: 3_000, silence: 5_500 };

export interface OpenSource {
  login: RegistryLogin | undefined;
  /** Returns no pages before the first login of a user. @throws FetchFailure, Problem */
  read(former: readonly Page[], signal: AbortSignal): Promise<Page[]>;
  close(): Promise<void>;
}

export function openSource(settings: RegistrySettings, deps: SourceDeps): OpenSource {
  const http = createHttpClient({
    // Stored settings do not override a later prohibition of the administrator.
    allowPrivateAddress: settings.allow_private_ip && deps.privateAddresses,
    remedy: deps.privateAddresses ? 'set allow_private_ip to allow it' : PRIVATE_OFF,
    proxy: deps.proxy,
    patience: PATIENCE,
  });
  const login = settings.auth && openLogin(settings.auth, http, deps);
  const { type, source } = sourceOf(settings);
  const read = type === 'default' ? undefined : READ_SOURCE[type];
  return {
    login,
    async read(former, signal) {
      if (read === undefined) return [];
      const once = async () => {
        const authorization = await login?.authorization();
        if (login && authorization === undefined) return nothingYet(source, former);
        return read({ source, former, http, authorization, signal, longest: deps.quota.maxWeight });
      };
      return once().catch((error: unknown) => {
        if (!login || !(error instanceof FetchFailure) || error.status !== 401) throw error;
        // The token may have been revoked, so one retry uses a new token.
        login.drop();
        return once();
      });
    },
    async close() {
      login?.close();
      await http.close();
    },
  };
}

function openLogin(auth: NonNullable<RegistrySettings['auth']>, http: HttpClient, deps: SourceDeps): RegistryLogin {
  let found: Promise<oidc.Configuration> | undefined;
  const discover = async () => {
    const clientSecret = await readClientSecret(auth, deps);
    return discoverIssuer({ issuer: auth.issuer, clientId: auth.client_id, clientSecret }, http);
  };
  const configuration = () => {
    found ??= discover().catch((error: unknown) => {
      found = undefined;
      throw error;
    });
    return found;
  };
  return new RegistryLogin({ auth, configuration, now: deps.now });
}

/** Returns no pages before the first login. After it the previous pages stay, and the read fails. */
function nothingYet(source: string, former: readonly Page[]): Page[] {
  if (former.length === 0) return [];
  throw new FetchFailure('refused', `${source} asks for a login; set the registry again to log in`);
}

async function readClientSecret(
  { client_secret_ref: reference }: NonNullable<RegistrySettings['auth']>,
  { readSecret }: SourceDeps,
): Promise<string | undefined> {
  if (reference === undefined) return undefined;
  const value = await readSecret(secretOf(reference));
  if (value !== undefined) return value;
  throw new FetchFailure('refused', `auth.client_secret_ref: there is no secret "${reference}"; store it first`);
}
