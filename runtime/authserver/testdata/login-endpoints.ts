import { request } from 'undici';
import type { AuditEvent } from '#runtime/audit/audit';
import { BROWSER_LIFESPAN } from '../browser/browser-cookie.ts';
import { type Browser } from '../browser/browsers.ts';
import { createLoginEndpoints } from '../create-login-endpoints.ts';
import { htmlAnswer, type Answer } from '../handler.ts';
import { hashId, newId } from '../ids.ts';
import type { ClientDocuments } from '../register/client-documents.ts';
import { type AuthServerUrls } from '../urls.ts';
import type { LinkRow, LoginRow, UserProfile } from '../storage/rows.ts';
import type { AuthStorage } from '../storage/storage.ts';
import { loginParts } from './login-parts.ts';
import { RESOURCE, serveRoutes } from './serve-routes.ts';

export const START = 1_800_000_000_000;
const CHALLENGE = 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM';

/** Answer to a request. */
export interface Visit {
  readonly status: number;
  readonly headers: Record<string, string | string[] | undefined>;
  readonly text: string;
  /** Query of a redirect. */
  readonly answer: URLSearchParams;
  /** Name and value of the cookie that was set, for later requests. */
  readonly cookie: string | undefined;
  /** Returns the value of a hidden field. */
  readonly hidden: (name: string) => string;
}

interface VisitOptions {
  readonly form?: Readonly<Record<string, string>> | readonly (readonly [string, string])[];
  readonly json?: unknown;
  readonly cookie?: string | undefined;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Serves the endpoints of clients and people over HTTP. Login steps are only recorded. */
export interface LoginEndpointServer {
  readonly origin: string;
  readonly urls: AuthServerUrls;
  readonly resource: string;
  readonly storage: AuthStorage;
  readonly clock: { time: number };
  readonly events: AuditEvent[];
  /** Recorded login steps. */
  readonly steps: { readonly login: LoginRow; readonly browser: Browser }[];
  readonly changed: string[];
  visit(url: string, options?: VisitOptions): Promise<Visit>;
  /** Registers a client. @returns its id */
  register(redirectUris: readonly string[], more?: Readonly<Record<string, unknown>>): Promise<string>;
  /** Returns the URL of a valid authorization request with changes. An empty value removes a parameter. */
  authorizeUrl(clientId: string, changes?: Readonly<Record<string, string>>): string;
  /** Logs a user in with a new browser and linked providers. @returns its cookie */
  logIn(user: UserProfile, linked?: Readonly<Record<string, Partial<LinkRow>>>): Promise<string>;
  close(): Promise<void>;
}

const PROVIDERS = [
  { type: 'oidc', name: 'okta', oidc_config: { client_id: 'vmcp', issuer_url: 'https://login.okta.example' } },
  {
    type: 'oauth2',
    name: 'github',
    required: false,
    oauth2_config: {
      client_id: 'vmcp',
      authorization_endpoint: 'https://github.example/login/oauth/authorize',
      token_endpoint: 'https://github.example/login/oauth/access_token',
    },
  },
];

export const REDIRECT = 'http://127.0.0.1:33418/callback';

export function userNamed(name: string): UserProfile {
  const issuer = 'https://login.okta.example';
  const account = { issuer, subject: name, name, email: `${name}@example.com`, email_verified: true };
  return { ...account, sub: hashId(JSON.stringify([issuer, name])), claims: {} };
}

interface ServerOptions {
  readonly config?: Readonly<Record<string, unknown>>;
  readonly documents?: ClientDocuments;
  /** Wraps the storage. */
  readonly wrap?: (storage: AuthStorage) => AuthStorage;
  /** Returns the answer of the next login step. */
  readonly nextStep?: (login: LoginRow, browser: Browser) => Promise<Answer>;
}

export async function startLoginEndpoints(options: ServerOptions = {}): Promise<LoginEndpointServer> {
  const server = await serveRoutes();
  const { documents, wrap } = options;
  const parts = loginParts(server.origin, {
    config: { upstreams: PROVIDERS, ...options.config },
    time: START,
    documents,
    wrap,
  });
  const { urls, memory, clock, cookie } = parts;
  const noted = { events: [], steps: [], changed: [] } as Pick<LoginEndpointServer, 'events' | 'steps' | 'changed'>;
  const endpoints = createLoginEndpoints({
    ...parts,
    nextStep: (login, browser) => {
      noted.steps.push({ login, browser });
      return options.nextStep?.(login, browser) ?? Promise.resolve(htmlAnswer('the next step'));
    },
    record: (event) => noted.events.push(event),
    changed: (sub) => noted.changed.push(sub),
  });
  server.mount(endpoints);
  const visit = (url: string, how: VisitOptions = {}) => send(new URL(url, server.origin), how);
  return {
    origin: server.origin,
    urls,
    resource: RESOURCE,
    storage: memory,
    clock,
    ...noted,
    visit,
    async register(redirect_uris, more = {}) {
      const { status, text } = await visit('/oauth/register', { json: { redirect_uris, ...more } });
      if (status !== 201) throw new Error(`registration answered ${status}: ${text}`);
      return (JSON.parse(text) as { client_id: string }).client_id;
    },
    authorizeUrl: (clientId, changes = {}) =>
      authorizeUrl(urls.authorize, { client_id: clientId, resource: RESOURCE, ...changes }),
    logIn: (user, linked = { okta: {} }) => logIn({ storage: memory, name: cookie.name, at: clock.time }, user, linked),
    close: server.close,
  };
}

function authorizeUrl(url: string, changes: Readonly<Record<string, string>>): string {
  const parameters = {
    redirect_uri: REDIRECT,
    response_type: 'code',
    code_challenge: CHALLENGE,
    code_challenge_method: 'S256',
    state: 'st-1',
    ...changes,
  };
  const entries = Object.entries(parameters).filter(([, value]) => value !== '');
  return `${url}?${new URLSearchParams(entries).toString()}`;
}

async function logIn(
  { storage, name, at }: { storage: AuthStorage; name: string; at: number },
  user: UserProfile,
  linked: Readonly<Record<string, Partial<LinkRow>>>,
): Promise<string> {
  const [browser, login] = [newId(), newId()];
  const links = Object.entries(linked).map(([provider, more]) => [provider, linkOf(user, at, more)] as const);
  const lifespan = 30 * 86_400_000;
  await storage.finishLogin({ sub: user.sub, links: Object.fromEntries(links), code: undefined, lifespan });
  const row = { user, logged_in_at: at, consents: [], ends_at: at + BROWSER_LIFESPAN };
  await storage.put('browser', hashId(login), row, { lifespan: BROWSER_LIFESPAN });
  return `${name}=${browser}.${login}`;
}

function linkOf(user: UserProfile, at: number, more: Partial<LinkRow>): LinkRow {
  return {
    account: user,
    sealed: 'k.iv.text',
    expires_at: undefined,
    linked_at: at,
    state: 'linked',
    version: 0,
    ...more,
  };
}

async function send(url: URL, { form, json, cookie, headers = {} }: VisitOptions): Promise<Visit> {
  const body = form ? new URLSearchParams(form as Record<string, string>).toString() : json && JSON.stringify(json);
  const answer = await request(url, {
    method: body === undefined ? 'GET' : 'POST',
    headers: {
      ...(body !== undefined && { 'content-type': form ? 'application/x-www-form-urlencoded' : 'application/json' }),
      ...(cookie !== undefined && { cookie }),
      ...headers,
    },
    ...(typeof body === 'string' && { body }),
  });
  const text = await answer.body.text();
  const [set] = [answer.headers['set-cookie'] ?? []].flat();
  const location = answer.headers.location;
  return {
    status: answer.statusCode,
    headers: answer.headers,
    text,
    answer: new URLSearchParams(typeof location === 'string' ? location.split('?')[1] : ''),
    cookie: set?.split(';', 1)[0],
    hidden: (name) => new RegExp(`name="${name}" value="([^"]*)"`).exec(text)?.[1] ?? '',
  };
}
