import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { GrantError, Grants, type Issued } from './grants.ts';
import { createIdTokens, type IdTokens } from './id-tokens.ts';
import { type Asked, type Fault, type IdTokenFault, type OAuthProviderOptions, type Part } from './options.ts';

/** A login provider on loopback with the quirks of real ones, and with faults to inject. */
export interface OAuthProvider {
  readonly port: number;
  readonly host: string;
  readonly issuer: string;
  /** It has discovery and ID tokens. */
  readonly isOidc: boolean;
  /** All requests since the start. */
  readonly asked: readonly Asked[];
  /** Requests of one path. */
  of(path: string): readonly Asked[];
  /** Returns every issued code and token with its user. */
  issued(): readonly (readonly [secret: string, user: string])[];
  setFault(part: Part, fault: Fault | undefined): void;
  /** Changes the form of later token answers. */
  setAnswers(answers: NonNullable<OAuthProviderOptions['answers']>): void;
  setIdTokenFault(fault: IdTokenFault | undefined): void;
  /** Returns the user of an access token. */
  userOf(accessToken: string): string | undefined;
  /** Removes this user from the provider. */
  revoke(user: string): void;
  /** Invalidates all codes and tokens that this user has received so far; a new login is valid. */
  endGrants(user: string): void;
  rotateKeys(): Promise<void>;
  close(): Promise<void>;
}

interface State {
  readonly issuer: string;
  options: OAuthProviderOptions;
  readonly grants: Grants;
  readonly idTokens: IdTokens;
  readonly faults: Map<Part, Fault>;
  idTokenFault: IdTokenFault | undefined;
}

interface Answer {
  readonly status: number;
  readonly type?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body: string;
}

const PARTS: Readonly<Record<string, Part>> = {
  '/.well-known/openid-configuration': 'discovery',
  '/jwks': 'jwks',
  '/authorize': 'authorize',
  '/token': 'token',
  '/userinfo': 'userinfo',
};

/** Starts a provider that accepts every user name. */
export async function serveOAuthProvider(options: OAuthProviderOptions = {}): Promise<OAuthProvider> {
  const host = options.host ?? '127.0.0.1';
  const asked: Asked[] = [];
  let handle: (request: Asked) => Promise<Answer | undefined> = () => Promise.resolve(undefined);
  const http = createServer((request, response) => {
    void readRequest(request).then(async (one) => {
      asked.push(one);
      await options.before?.(one.path);
      write(response, await handle(one));
    });
  });
  await new Promise<void>((resolve) => http.listen(options.port ?? 0, host, resolve));
  const { port } = http.address() as AddressInfo;
  const issuer = `http://${host}:${port}`;
  const state: State = {
    issuer,
    options,
    grants: new Grants(options),
    idTokens: await createIdTokens(issuer),
    faults: new Map(),
    idTokenFault: undefined,
  };
  handle = (request) => answer(request, state);
  return {
    port,
    host: `${host}:${port}`,
    issuer,
    isOidc: options.oidc === true,
    asked,
    of: (path) => asked.filter((one) => one.path === path),
    issued: () => state.grants.issued(),
    setFault(part, fault) {
      if (fault) state.faults.set(part, fault);
      else state.faults.delete(part);
    },
    setAnswers(answers) {
      state.options = { ...state.options, answers };
    },
    setIdTokenFault(fault) {
      state.idTokenFault = fault;
    },
    userOf: (accessToken) => state.grants.userOf(accessToken)?.user,
    revoke: (user) => state.grants.revoke(user),
    endGrants: (user) => state.grants.endGrants(user),
    rotateKeys: () => state.idTokens.rotate(),
    close: () =>
      new Promise((resolve) => {
        http.close(() => resolve());
        http.closeAllConnections();
      }),
  };
}

async function readRequest(request: IncomingMessage): Promise<Asked> {
  const chunks: Buffer[] = [];
  for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk);
  const url = new URL(request.url ?? '/', 'http://localhost');
  return {
    at: Date.now(),
    method: request.method ?? 'GET',
    path: url.pathname,
    query: url.searchParams,
    headers: request.headers,
    form: new URLSearchParams(Buffer.concat(chunks).toString()),
  };
}

function write(response: ServerResponse, given: Answer | undefined): void {
  if (given === undefined) return;
  const { status, type = 'application/json', headers = {}, body } = given;
  response.writeHead(status, { 'content-type': type, ...headers }).end(body);
}

/** Undefined: never. */
async function answer(request: Asked, state: State): Promise<Answer | undefined> {
  const part = PARTS[request.path];
  const fault = part && state.faults.get(part);
  if (fault !== undefined) return spoilt(fault);
  switch (part) {
    case 'discovery':
      return json(metadata(state));
    case 'jwks':
      return json({ keys: state.idTokens.keys() });
    case 'authorize':
      return authorize(request, state);
    case 'token':
      return await token(request, state);
    case 'userinfo':
      return userInfo(request, state);
    case undefined:
      return json({ error: 'not_found' }, 404);
  }
}

function spoilt(fault: Fault): Answer | undefined {
  switch (fault) {
    case 'hang':
      return undefined;
    case 'fail':
      return { status: 500, type: 'text/plain', body: 'out of order: secret-detail' };
    case 'html':
      return { status: 200, type: 'text/html', body: '<h1>secret-detail</h1>' };
    case 'huge':
      return { status: 200, body: `"${'x'.repeat(2_000_000)}"` };
    case 'redirect':
      return { status: 302, headers: { location: 'http://127.0.0.1:1/internal' }, body: '' };
    case 'unknown-client':
      return json({ error: 'invalid_client', error_description: 'secret-detail' }, 401);
  }
}

function metadata({ issuer, options }: State): unknown {
  return {
    issuer,
    authorization_endpoint: `${issuer}/authorize`,
    token_endpoint: `${issuer}/token`,
    userinfo_endpoint: `${issuer}/userinfo`,
    jwks_uri: `${issuer}/jwks`,
    response_types_supported: ['code'],
    subject_types_supported: ['public'],
    id_token_signing_alg_values_supported: ['ES256', 'none', 'HS256'],
    token_endpoint_auth_methods_supported: [
      options.clientAuth === 'header' ? 'client_secret_basic' : 'client_secret_post',
    ],
    ...(options.iss !== undefined && { authorization_response_iss_parameter_supported: true }),
  };
}

/** Renders a page that asks for the user name, and redirects to the client with the result. */
function authorize(request: Asked, state: State): Answer {
  const user = userAt(request, state);
  if (user === undefined) {
    const fields = '<input type="text" name="login"><button name="decision" value="allow">Sign in</button>';
    const body = `<form method="post">${fields}<button name="decision" value="deny">Cancel</button></form>`;
    return { status: 200, type: 'text/html', body };
  }
  const { query, form } = request;
  const back = backToClient(query, state);
  if (form.get('decision') === 'deny') {
    back.searchParams.set('error', 'access_denied');
    back.searchParams.set('error_description', 'secret-detail');
    return { status: 302, headers: { location: back.href }, body: '' };
  }
  const [challenge, nonce, scope] = [query.get('code_challenge'), query.get('nonce'), query.get('scope') ?? ''];
  const redirectUri = query.get('redirect_uri') ?? '';
  back.searchParams.set('code', state.grants.newCode({ user, redirectUri, challenge, nonce, scope }));
  const cookie = `${cookieName(state)}=${user}; Path=/; HttpOnly; SameSite=Lax`;
  return { status: 302, headers: { location: back.href, 'set-cookie': cookie }, body: '' };
}

function userAt({ method, query, form, headers }: Asked, state: State): string | undefined {
  if (method === 'POST') return form.get('login') ?? undefined;
  if (query.get('prompt')?.includes('login')) return undefined;
  return new RegExp(`${cookieName(state)}=([^;]+)`).exec(headers.cookie?.toString() ?? '')?.[1];
}

const cookieName = ({ issuer }: State) => `fake_user_${new URL(issuer).port}`;

function backToClient(query: URLSearchParams, { issuer, options }: State): URL {
  const back = new URL(query.get('redirect_uri') ?? '');
  if (options.iss === 'sent') back.searchParams.set('iss', issuer);
  if (options.iss === 'wrong') back.searchParams.set('iss', 'https://elsewhere.example');
  back.searchParams.set('state', query.get('state') ?? '');
  return back;
}

async function token({ form, headers }: Asked, state: State): Promise<Answer> {
  try {
    return tokens(
      await documentOf(state.grants.redeem(form, headers.authorization as string | undefined), state),
      state,
    );
  } catch (error) {
    if (!(error instanceof GrantError)) throw error;
    const body = { ok: false, error: error.code, error_description: 'secret-detail' };
    return tokens(body, state, state.options.errorsAt200 ? 200 : error.status);
  }
}

async function documentOf(
  { grant, accessToken, refreshToken }: Issued,
  state: State,
): Promise<Record<string, unknown>> {
  const { options, idTokens, idTokenFault: fault } = state;
  const given = {
    access_token: accessToken,
    token_type: 'Bearer',
    scope: grant.scope,
    ...(refreshToken !== undefined && { refresh_token: refreshToken }),
    ...(options.expiresIn !== undefined && { expires_in: options.expiresIn }),
    ...options.members,
  };
  if (options.answers === 'nested' && grant.nonce === null) {
    const { user } = grant;
    return {
      ok: true,
      access_token: 'xoxb-of-a-bot',
      authed_user: { id: user, profile: { name: `${user} N.`, mail: `${user}@fake.test` }, ...given },
    };
  }
  if (options.oidc !== true || fault === 'missing') return given;
  const { name, email, ...claims } = claimsOf(grant.user, state);
  const about = options.slimIdToken ? claims : { name, email, ...claims };
  const idToken = await idTokens.issue({ sub: grant.user, nonce: grant.nonce, claims: about }, fault);
  state.grants.note(idToken, grant.user);
  return { ...given, id_token: idToken };
}

function tokens(document: Record<string, unknown>, { options }: State, status = 200): Answer {
  if (options.answers !== 'form') return json(document, status);
  const pairs = Object.entries(document).map(([name, value]) => [name, String(value)] as [string, string]);
  return {
    status,
    type: 'application/x-www-form-urlencoded; charset=utf-8',
    body: new URLSearchParams(pairs).toString(),
  };
}

function userInfo({ method, headers }: Asked, state: State): Answer {
  const { method: wanted = 'GET', header, claims, closed } = state.options.userInfo ?? {};
  if (closed) return json({ error: 'insufficient_scope' }, 403);
  if (method !== wanted) return json({ error: 'method_not_allowed' }, 405);
  if (header && headers[header[0]] !== header[1]) return json({ error: 'header_missing' }, 400);
  const grant = state.grants.userOf(headers.authorization as string | undefined);
  if (grant === undefined) return json({ message: 'Bad credentials' }, 401);
  const { user } = grant;
  if (state.options.oidc === true) return json({ sub: user, ...claimsOf(user, state), ...claims });
  return json({ account: { number: numberOf(user), label: `${user} N.` }, mail: `${user}@fake.test`, plan: 'free' });
}

function claimsOf(user: string, { options }: State): Record<string, unknown> {
  return { name: `${user} N.`, email: `${user}@fake.test`, email_verified: true, ...options.claims };
}

/** Returns a stable number for a name, for providers with numeric user ids. */
export function numberOf(user: string): number {
  return [...Buffer.from(user)].reduce((sum, byte) => sum * 31 + byte, 7) % 1_000_000;
}

const json = (value: unknown, status = 200): Answer => ({ status, body: JSON.stringify(value) });
