import { createHash } from 'node:crypto';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import {
  auth,
  discoverOAuthServerInfo,
  OAuthError,
  refreshAuthorization,
  type FetchLike,
  type StoredOAuthClientInformation,
  type StoredOAuthTokens,
} from '@modelcontextprotocol/client';
import { z } from 'zod';
import type { StateFolder } from '#local/state-folder';
import { readIfThere, writeFileAtomic } from '#lib/files/write-file';
import type { Context } from '../context.ts';
import { CliError, EXIT_CODES } from '../exit-codes.ts';
import { quoted } from '../name-program.ts';
import { failureAt } from '../oauth/failure-at.ts';
import { boundedFetch, createOAuthClient, type OAuthClient, type Remembered } from '../oauth/oauth-client.ts';
import { shownLine } from '../shown-output.ts';
import { isOfThisMachine, LoopbackBrowser, NotThisMachine, type Page } from './browse.ts';
import { type Field, type Form, textIn } from './read-html.ts';

/** No process listens at this URL. The login ends before its redirect is requested. */
const REDIRECT = new URL('http://127.0.0.1:4479/vmcp-token');

const Written = z.object({
  client: z.custom<StoredOAuthClientInformation>(
    (value) => z.object({ client_id: z.string() }).safeParse(value).success,
  ),
  tokens: z.custom<StoredOAuthTokens>((value) => z.object({ access_token: z.string() }).safeParse(value).success),
});

/** The file name reveals neither user nor endpoint. */
function fileOf(state: StateFolder, endpoint: string, user: string): string {
  const name = createHash('sha256')
    .update(JSON.stringify([endpoint, user]))
    .digest('hex')
    .slice(0, 32);
  return join(state.developmentLogins, `${name}.json`);
}

function readLogin(file: string): Remembered {
  try {
    return Written.parse(JSON.parse(readIfThere(file) ?? ''));
  } catch {
    return {};
  }
}

/** The first login submits the pages; later calls refresh the token. @throws CliError */
export async function logIn(endpoint: string, user: DevelopmentUser, context: Context): Promise<string> {
  const { state, err } = context;
  const serverUrl = new URL(endpoint);
  if (!isOfThisMachine(serverUrl)) {
    throw new CliError(
      EXIT_CODES.failed,
      `${endpoint} is not on this machine: passwords are sent to loopback addresses only`,
    );
  }
  const file = fileOf(state, endpoint, user.name);
  let login: URL | undefined;
  const oauth = createOAuthClient(
    REDIRECT.href,
    'vmcp token',
    (url) => {
      login = url;
    },
    readLogin(file),
  );
  const options = { serverUrl, fetchFn: boundedFetch(serverUrl) };
  try {
    if ((await renew(oauth, options)) === 'ended') {
      err.write(`The former login of ${user.name} has ended (unlinked, signed out or too old): logging in anew.\n`);
    }
    const result = oauth.remembered.tokens ? 'AUTHORIZED' : await auth(oauth.provider, options);
    if (result === 'REDIRECT' && login) {
      const { searchParams } = await walkThrough(login, REDIRECT, user);
      await auth(oauth.provider, { ...options, ...answerIn(searchParams, oauth.state()) });
    }
  } catch (problem) {
    if (problem instanceof NotThisMachine) {
      const remedy = `log in by your browser instead ("${context.typed(`try ${quoted(endpoint)}`)}")`;
      throw new CliError(EXIT_CODES.failed, `${problem.message}: ${remedy}`, { cause: problem });
    }
    throw failureAt(serverUrl, problem, context);
  }
  const { client, tokens } = oauth.remembered;
  if (!tokens) throw new CliError(EXIT_CODES.failed, 'the authorization server gave no token');
  mkdirSync(state.developmentLogins, { recursive: true, mode: 0o700 });
  writeFileAtomic(file, JSON.stringify({ client, tokens }));
  return tokens.access_token;
}

/** Error codes of a token endpoint that require a new login (RFC 6749 §5.2). */
const ENDED = new Set<string>(['invalid_grant', 'invalid_client', 'unauthorized_client']);

/** Deletes an ended login. The SDK's messages differ. @throws OAuthError, Error when the server gives no definite answer */
async function renew(oauth: OAuthClient, { serverUrl, fetchFn }: Asking): Promise<'renewed' | 'ended' | 'none'> {
  const { client: clientInformation, tokens } = oauth.remembered;
  if (!clientInformation || !tokens?.refresh_token) return 'none';
  const { provider } = oauth;
  const { authorizationServerMetadata: metadata } = await discoverOAuthServerInfo(serverUrl, { fetchFn });
  if (metadata === undefined || metadata.issuer !== tokens.issuer) {
    await provider.invalidateCredentials?.('tokens');
    return 'none';
  }
  try {
    const asked = { metadata, clientInformation, refreshToken: tokens.refresh_token, fetchFn };
    await provider.saveTokens({ ...tokens, ...(await refreshAuthorization(metadata.issuer, asked)) });
    return 'renewed';
  } catch (problem) {
    if (!(problem instanceof OAuthError) || !ENDED.has(problem.code)) throw problem;
    await provider.invalidateCredentials?.(problem.code === 'invalid_grant' ? 'tokens' : 'all');
    return 'ended';
  }
}

interface Asking {
  serverUrl: URL;
  fetchFn: FetchLike;
}

function answerIn(parameters: URLSearchParams, state: string | undefined): { authorizationCode: string; iss?: string } {
  const [code, iss] = [parameters.get('code'), parameters.get('iss')];
  if (code === null || parameters.get('state') !== state) {
    throw new CliError(
      EXIT_CODES.failed,
      `the login ended without access: ${parameters.get('error') ?? 'no reason given'}`,
    );
  }
  return iss === null ? { authorizationCode: code } : { authorizationCode: code, iss };
}

const MOST_PAGES = 20;

interface DevelopmentUser {
  name: string;
  password: string;
}

const isNo = ({ name, value }: Field): boolean => /deny|cancel|abort|reject|switch/i.test(`${name} ${value}`);

/** Fills a form: name and password if it has such fields, and consent. */
function filled({ fields, buttons }: Form, user: DevelopmentUser): URLSearchParams {
  const body = new URLSearchParams();
  for (const { name, value, type, checked } of fields) {
    if (name === '' || ((type === 'checkbox' || type === 'radio') && !checked)) continue;
    const asksName = (type === 'text' || type === 'email') && /^(login|user(name)?|email)$/i.test(name);
    body.append(name, type === 'password' ? user.password : asksName ? user.name : value);
  }
  const yes = buttons.find((button) => !isNo(button));
  if (yes !== undefined && yes.name !== '') body.append(yes.name, yes.value);
  return body;
}

/** Returns the first form if the page has none for each user. */
function formFor({ forms }: Page, { name }: DevelopmentUser): Form | undefined {
  const meant = (text: string): boolean => text === name || text.startsWith(`${name}@`);
  const own = forms.find(
    ({ fields, text }) => fields.some(({ value }) => meant(value)) || text.split(/\s+/).some(meant),
  );
  return forms.length > 1 ? (own ?? forms[0]) : forms[0];
}

function saidBy({ text, status }: Page): string {
  const body = /<body[^>]*>([\s\S]*)<\/body>/i.exec(text)?.[1] ?? text;
  return `${status} ${shownLine(textIn(body)).slice(0, 300)}`;
}

/** Visits this machine only; does not request the client's redirect. @throws NotThisMachine, or an Error that names the last page */
export async function walkThrough(authorizeUrl: URL, redirectUrl: URL, user: DevelopmentUser): Promise<URL> {
  const browser = new LoopbackBrowser();
  const end = (url: URL): boolean => url.origin === redirectUrl.origin && url.pathname === redirectUrl.pathname;
  let here = await browser.go(authorizeUrl, end);
  let before = '';
  for (let pages = 0; pages < MOST_PAGES; pages += 1) {
    if (here instanceof URL) return here;
    const form = formFor(here, user);
    // The server shows the same page again when it rejects the input.
    if (!form || here.status >= 400 || here.text === before) break;
    before = here.text;
    const body = filled(form, user);
    if (form.method === 'GET') {
      const target = new URL(form.action);
      target.search = body.toString();
      here = await browser.go(target, end);
    } else {
      here = await browser.go(form.action, end, body);
    }
  }
  if (here instanceof URL) return here;
  throw new Error(`the login of ${user.name} ends at ${here.url.origin}${here.url.pathname}: ${saidBy(here)}`);
}
