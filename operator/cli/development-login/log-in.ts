import { createHash } from 'node:crypto';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { auth, type StoredOAuthClientInformation, type StoredOAuthTokens } from '@modelcontextprotocol/client';
import { z } from 'zod';
import type { StateFolder } from '#operator/local/state-folder';
import { readIfThere, writeFileAtomic } from '#operator/local/write-file';
import { CliError, EXIT_CODES } from '../exit-codes.ts';
import { boundedFetch, createOAuthClient, type Remembered } from '../oauth/oauth-client.ts';
import { isOfThisMachine } from './browse.ts';
import { type DevelopmentUser, walkThrough } from './walk-through.ts';

/** Nothing listens there: the walk ends before it. */
const REDIRECT = new URL('http://127.0.0.1:4479/vmcp-token');

const Written = z.object({
  client: z.custom<StoredOAuthClientInformation>(
    (value) => z.object({ client_id: z.string() }).safeParse(value).success,
  ),
  tokens: z.custom<StoredOAuthTokens>((value) => z.object({ access_token: z.string() }).safeParse(value).success),
});

/** One file for each user and endpoint: its name tells neither. */
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

/**
 * An access token of a development user for an endpoint with an authorization server of its own. The first time the user logs in
 * page by page; from then on the login is renewed, as any client does it.
 * @throws CliError
 */
export async function logIn(endpoint: string, user: DevelopmentUser, state: StateFolder): Promise<string> {
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
    const result = await auth(oauth.provider, options);
    if (result === 'REDIRECT' && login) {
      const { searchParams } = await walkThrough(login, REDIRECT, user);
      await auth(oauth.provider, { ...options, ...answerIn(searchParams, oauth.state()) });
    }
  } catch (problem) {
    if (problem instanceof CliError) throw problem;
    throw new CliError(EXIT_CODES.failed, problem instanceof Error ? problem.message : String(problem), {
      cause: problem,
    });
  }
  const { client, tokens } = oauth.remembered;
  if (!tokens) throw new CliError(EXIT_CODES.failed, 'the authorization server gave no token');
  mkdirSync(state.developmentLogins, { recursive: true, mode: 0o700 });
  writeFileAtomic(file, JSON.stringify({ client, tokens }));
  return tokens.access_token;
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
