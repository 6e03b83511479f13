import { createHash, randomBytes } from 'node:crypto';
import { Robot } from '../robot/robot.ts';
import type { Person } from '../robot/person.ts';

export interface Tokens {
  readonly access_token: string;
  readonly refresh_token: string;
  readonly expires_in: number;
  readonly scope: string;
}

/** An answer of a JSON endpoint. */
export interface Came {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  readonly body: Partial<Tokens> & Readonly<Record<string, unknown>>;
}

/** PKCE pair (RFC 7636). */
interface Pair {
  readonly verifier: string;
  readonly challenge: string;
}

/** A request at the authorization endpoint, with the values that redeem its answer. */
interface Begun extends Pair {
  readonly url: string;
  readonly state: string;
}

/** The browser, and extra parameters of the authorize URL. */
export interface How {
  readonly robot?: Robot;
  readonly parameters?: Readonly<Record<string, string | undefined>>;
}

export const REDIRECT = 'http://127.0.0.1:1/callback';
const DEADLINE = 15_000;

function newPair(): Pair {
  const verifier = randomBytes(32).toString('base64url');
  return { verifier, challenge: createHash('sha256').update(verifier).digest('base64url') };
}

/** Posts a form. Returns the JSON answer. */
export async function postForm(
  url: string,
  form: Readonly<Record<string, string>> | readonly (readonly [string, string])[],
  headers: Readonly<Record<string, string>> = {},
): Promise<Came> {
  const entries = Array.isArray(form) ? (form as [string, string][]) : Object.entries(form as Record<string, string>);
  const body = new URLSearchParams(entries);
  return come(await fetch(url, { method: 'POST', body, headers, redirect: 'manual', signal: deadline() }));
}

export async function postJson(url: string, value: unknown, headers: Readonly<Record<string, string>> = {}) {
  const body = typeof value === 'string' ? value : JSON.stringify(value);
  const all = { 'content-type': 'application/json', ...headers };
  return come(await fetch(url, { method: 'POST', body, headers: all, signal: deadline() }));
}

const deadline = () => AbortSignal.timeout(DEADLINE);

async function come(answer: Response): Promise<Came> {
  const text = await answer.text();
  const body = text.startsWith('{') ? (JSON.parse(text) as Came['body']) : {};
  return { status: answer.status, headers: answer.headers, text, body };
}

/** Registers a client (RFC 7591). */
export function register(origin: string, metadata: Readonly<Record<string, unknown>> = {}): Promise<Came> {
  const usual = { client_name: 'Test client', redirect_uris: [REDIRECT], token_endpoint_auth_method: 'none' };
  return postJson(`${origin}/oauth/register`, { ...usual, ...metadata });
}

/** A public client that registered itself at the authorization server of `origin`. */
export class OAuthClient {
  readonly origin: string;
  readonly id: string;
  readonly redirectUri: string;

  constructor(origin: string, id: string, redirectUri = REDIRECT) {
    this.origin = origin;
    this.id = id;
    this.redirectUri = redirectUri;
  }

  static async register(origin: string, metadata: Readonly<Record<string, unknown>> = {}): Promise<OAuthClient> {
    const { status, text, body } = await register(origin, metadata);
    if (status !== 201) throw new Error(`registration: ${status} ${text}`);
    const [redirectUri] = body.redirect_uris as string[];
    return new OAuthClient(origin, String(body.client_id), redirectUri);
  }

  /** Returns the same client at another replica. */
  at(origin: string): OAuthClient {
    return new OAuthClient(origin, this.id, this.redirectUri);
  }

  /** Makes an authorize URL, without parameters that are undefined. */
  begin(parameters: Readonly<Record<string, string | undefined>> = {}): Begun {
    const pair = newPair();
    const state = parameters.state ?? randomBytes(8).toString('hex');
    const all: Record<string, string | undefined> = {
      response_type: 'code',
      client_id: this.id,
      redirect_uri: this.redirectUri,
      code_challenge: pair.challenge,
      code_challenge_method: 'S256',
      state,
      ...parameters,
    };
    const given = Object.entries(all).filter((entry): entry is [string, string] => entry[1] !== undefined);
    return { ...pair, state, url: `${this.origin}/oauth/authorize?${new URLSearchParams(given).toString()}` };
  }

  /** Runs a login up to the redirect back to this client. */
  async authorize(
    person: Person,
    { robot = new Robot(), parameters = {} }: How = {},
  ): Promise<Begun & { readonly back: URL }> {
    const begun = this.begin(parameters);
    return { ...begun, back: await robot.login(begun.url, person) };
  }

  /** Returns a code with the values that redeem it. @throws if the login ended with an error */
  async code(person: Person, how?: How): Promise<Begun & { readonly code: string }> {
    const done = await this.authorize(person, how);
    const code = done.back.searchParams.get('code');
    if (!code) throw new Error(`the login ended with ${done.back.searchParams.toString()}`);
    return { ...done, code };
  }

  redeem(done: { readonly code: string; readonly verifier: string }, more: Readonly<Record<string, string>> = {}) {
    return this.token({
      grant_type: 'authorization_code',
      code: done.code,
      code_verifier: done.verifier,
      redirect_uri: this.redirectUri,
      ...more,
    });
  }

  /** Runs a whole login. @throws if it fails */
  async login(person: Person, how?: How): Promise<Tokens> {
    return tokensOf(await this.redeem(await this.code(person, how)));
  }

  refresh(refreshToken: string, more: Readonly<Record<string, string>> = {}): Promise<Came> {
    return this.token({ grant_type: 'refresh_token', refresh_token: refreshToken, ...more });
  }

  revoke(token: string): Promise<Came> {
    return postForm(`${this.origin}/oauth/revoke`, { token, client_id: this.id });
  }

  token(form: Readonly<Record<string, string>>): Promise<Came> {
    return postForm(`${this.origin}/oauth/token`, { client_id: this.id, ...form });
  }
}

/** @throws if the answer is a refusal */
export function tokensOf({ status, text, body }: Came): Tokens {
  if (status !== 200) throw new Error(`no tokens: ${status} ${text}`);
  return body as unknown as Tokens;
}

/** Returns the claims of an access token without verification. */
export function claimsOf(accessToken: string): Record<string, unknown> {
  return JSON.parse(Buffer.from(accessToken.split('.')[1] ?? '', 'base64url').toString()) as Record<string, unknown>;
}
