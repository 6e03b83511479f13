import { readFileSync } from 'node:fs';
import { Upstream } from '#crds/run-config/auth-server';
import { newId } from '../../ids.ts';
import {
  CLIENT_ID,
  CLIENT_SECRET,
  type Fault,
  type OAuthProviderOptions,
} from '../../../../e2e/fakes/oauth-provider/options.ts';
import { serveOAuthProvider, type OAuthProvider } from '../../../../e2e/fakes/oauth-provider/serve.ts';
import { isRedirectOf, Robot } from '../../../../e2e/robot/robot.ts';
import type { Person } from '../../../../e2e/robot/person.ts';
import { createProvider } from '../create-provider.ts';
import type { ProviderDeps } from '../provider-deps.ts';
import { type StepResult, type UpstreamProvider, UpstreamRefused, UpstreamUnavailable } from '../provider.ts';

export const REDIRECT = 'http://127.0.0.1:9/oauth/callback/fake';

/** Provider and its fake counterpart. */
export interface Sides {
  readonly fake: OAuthProvider;
  readonly provider: UpstreamProvider;
  readonly clock: { time: number };
  /** Content of files by name. */
  readonly files: Map<string, string>;
  /** Warnings in the log. */
  readonly warned: string[];
  /** Logs a person in with a browser. `change` alters the callback. */
  readonly login: (person?: Person, change?: (callback: URL) => void) => Promise<StepResult>;
  /** Returns the parameters of the redirect to the provider. */
  readonly parameters: (forceLogin?: boolean) => Promise<URLSearchParams>;
  close(): Promise<void>;
}

/** Returns the error of a failed provider call. Throws when there is none. */
export async function failureOf(result: Promise<unknown>): Promise<UpstreamRefused | UpstreamUnavailable> {
  const error = await result.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  if (error instanceof UpstreamRefused || error instanceof UpstreamUnavailable) return error;
  throw new Error(`no failure of a provider: ${String(error)}`);
}

/** Faults of a token endpoint, and whether they count as an answer. */
export const TOKEN_FAULTS: readonly (readonly [Fault, boolean])[] = [
  ['fail', false],
  ['hang', false],
  ['html', true],
  ['redirect', true],
  ['huge', false],
  ['unknown-client', true],
];

/** Returns the failure of a login under a fault of the token endpoint. */
export async function failureAtTokens({ fake, login }: Sides, fault: Fault) {
  fake.setFault('token', fault);
  const failure = await failureOf(login());
  const { name, message, cause } = failure;
  const tells = message.includes('secret-detail') || cause !== undefined || fake.of('/internal').length > 0;
  return { name, answered: 'answered' in failure && failure.answered, tells };
}

const opened: Sides[] = [];

/** Closes all started sides. */
export async function closeSides(): Promise<void> {
  await Promise.all(opened.splice(0).map((sides) => sides.close()));
}

type Written = Readonly<Record<string, unknown>>;

interface SidesOptions {
  readonly fake?: OAuthProviderOptions;
  /** Members of `oidc_config` or `oauth2_config`. */
  readonly config?: Written | ((issuer: string) => Written);
  readonly upstream?: Written;
  readonly deps?: Partial<ProviderDeps>;
}

export async function startOidc({ fake: how, ...options }: SidesOptions = {}): Promise<Sides> {
  const fake = await serveOAuthProvider({ oidc: true, ...how });
  const config = { ...client(how), issuer_url: fake.issuer, ...written(options, fake) };
  return join(fake, { type: 'oidc', oidc_config: config, ...options.upstream }, options);
}

export async function startOAuth2({ fake: how, ...options }: SidesOptions = {}): Promise<Sides> {
  const fake = await serveOAuthProvider(how);
  const config = {
    ...client(how),
    authorization_endpoint: `${fake.issuer}/authorize`,
    token_endpoint: `${fake.issuer}/token`,
    ...written(options, fake),
  };
  return join(fake, { type: 'oauth2', oauth2_config: config, ...options.upstream }, options);
}

const written = ({ config }: SidesOptions, { issuer }: OAuthProvider) =>
  typeof config === 'function' ? config(issuer) : config;

const client = (how: OAuthProviderOptions = {}) => ({
  client_id: CLIENT_ID,
  ...(how.clientAuth !== 'public' && { client_secret_file: 'secret' }),
});

function join(fake: OAuthProvider, upstream: Written, { deps = {} }: SidesOptions): Sides {
  const clock = { time: Date.now() };
  const files = new Map([['secret', CLIENT_SECRET]]);
  const warned: string[] = [];
  const warn = (message: string, fields?: unknown) => void warned.push(`${message} ${JSON.stringify(fields)}`);
  const provider = createProvider(Upstream.parse({ name: 'fake', ...upstream }), {
    redirectUri: REDIRECT,
    isPrimary: true,
    allowHttp: false,
    readSecret: (file) => files.get(file) ?? readFileSync(file, 'utf8'),
    proxy: undefined,
    log: { debug: () => undefined, info: () => undefined, warn, error: () => undefined },
    now: () => clock.time,
    deadline: 1_500,
    ...deps,
  });
  const request = () => ({ verifier: newId(), nonce: newId(), state: newId() });
  const sides: Sides = {
    fake,
    provider,
    clock,
    files,
    warned,
    async login(person = { user: 'alice' }, change = () => undefined) {
      const loginStep = request();
      const url = await provider.authorizationUrl({ ...loginStep, forceLogin: false });
      const { next } = await new Robot().walk(url, person, { before: isRedirectOf(url) });
      if (next === undefined) throw new Error('the provider did not send the browser back');
      change(next);
      return provider.finish(next, loginStep);
    },
    parameters: async (forceLogin = false) =>
      new URL(await provider.authorizationUrl({ ...request(), forceLogin })).searchParams,
    async close() {
      await provider.close();
      await fake.close();
    },
  };
  opened.push(sides);
  return sides;
}
