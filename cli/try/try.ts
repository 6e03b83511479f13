import { Client, StreamableHTTPClientTransport, UnauthorizedError } from '@modelcontextprotocol/client';
import { chooseEndpoint, type EndpointOptions } from '../choose-url.ts';
import type { Context } from '../context.ts';
import { CliError, EXIT_CODES } from '../exit-codes.ts';
import { boundedFetch, createOAuthClient, endLogin, type OAuthClient, type Remembered } from '../oauth/oauth-client.ts';
import { forgetClient, isClientKnown, keepClient, readClient } from '../oauth/cached-client.ts';
import { openBrowser } from '../oauth/open-browser.ts';
import { failureAt } from '../oauth/failure-at.ts';
import { type CallbackReceiver, openCallback } from '../oauth/receive-callback.ts';
import { shownLine } from '../shown-output.ts';
import { printObject } from '../print-object.ts';
import { type Introduction, introductionOf, printTried, type TriedTool } from './describe-tools.ts';

export interface TryOptions extends EndpointOptions {
  /** False: print the URL only. */
  browser: boolean;
  /** Milliseconds. */
  timeout: number;
  output: 'table' | 'json';
}

/** Milliseconds for one request. */
const REQUEST = 30_000;
const MOST_PAGES = 100;

interface Login {
  oauth: OAuthClient;
  receiver: CallbackReceiver;
}

/** The authorization server no longer knows the registered client. */
class ClientForgotten extends Error {
  override readonly name = 'ClientForgotten';
}

function showLogin({ browser }: TryOptions, { err, environment }: Context): (url: URL) => Promise<void> {
  return async (url) => {
    err.write(`Log in here:\n  ${url.href}\n`);
    if (!browser) return;
    const opened = await openBrowser(url.href, environment);
    err.write(
      opened ? 'Your browser opens it. Waiting ...\n' : 'No browser could be opened: open it yourself. Waiting ...\n',
    );
  };
}

async function finishLogin(transport: StreamableHTTPClientTransport, answer: Promise<URLSearchParams>): Promise<void> {
  const parameters = await answer;
  if (parameters.has('code')) return transport.finishAuth(parameters);
  const [error, why] = [parameters.get('error') ?? 'no reason given', parameters.get('error_description')];
  const reason = shownLine(why === null ? error : `${error} (${why})`).slice(0, 500);
  throw new CliError(EXIT_CODES.failed, `the login ended without access: ${reason}`);
}

/** Logs in if the endpoint requires it. */
async function connect(url: URL, { oauth, receiver }: Login, options: TryOptions, stop: AbortSignal): Promise<Client> {
  const { provider } = oauth;
  // Waits from the start, because the browser may return before the SDK does.
  const answer = receiver.receive(oauth.state, options.timeout, stop);
  answer.catch(() => undefined);
  for (let attempt = 0; ; attempt += 1) {
    const transport = new StreamableHTTPClientTransport(url, { authProvider: provider, fetch: boundedFetch(url) });
    const client = new Client({ name: 'vmcp-try', version: '1' });
    try {
      await client.connect(transport, { timeout: REQUEST });
      return client;
    } catch (problem) {
      if (!(problem instanceof UnauthorizedError) || attempt > 0 || oauth.state() === undefined) throw problem;
      await finishLogin(transport, answer);
    }
  }
}

async function listTools(client: Client): Promise<TriedTool[]> {
  const tools: TriedTool[] = [];
  let cursor: string | undefined;
  for (let page = 0; page < MOST_PAGES; page += 1) {
    const answer = await client.listTools(cursor === undefined ? {} : { cursor }, { timeout: REQUEST });
    tools.push(...answer.tools.map(({ name, description = '' }) => ({ name, description })));
    cursor = answer.nextCursor;
    if (cursor === undefined) break;
  }
  return tools;
}

async function askWhoIAm(client: Client, tools: TriedTool[]): Promise<Introduction[]> {
  const asking = tools
    .filter(({ name }) => /whoami$/i.test(name))
    .map(async ({ name }) => {
      try {
        return introductionOf(name, await client.callTool({ name, arguments: {} }, { timeout: REQUEST }));
      } catch (problem) {
        return { tool: name, error: problem instanceof Error ? problem.message : String(problem) };
      }
    });
  return Promise.all(asking);
}

/** Verifies first that the server still knows an earlier registration. */
function oauthClient(known: Remembered, receiver: CallbackReceiver, show: (url: URL) => Promise<void>): OAuthClient {
  const open = async (url: URL): Promise<void> => {
    if (known.client !== undefined && !(await isClientKnown(url))) throw new ClientForgotten();
    await show(url);
  };
  return createOAuthClient(receiver.redirectUrl, 'vmcp try', open, known);
}

async function logIn(
  url: URL,
  receiver: CallbackReceiver,
  options: TryOptions,
  context: Context,
  stop: AbortSignal,
): Promise<{ client: Client; oauth: OAuthClient }> {
  const { redirectUrl } = receiver;
  const show = showLogin(options, context);
  const kept = readClient(context.state, url.href);
  const known = kept?.redirectUrl === redirectUrl ? { client: kept.client } : {};
  const attempt = async (remembered: Remembered) => {
    const oauth = oauthClient(remembered, receiver, show);
    try {
      return { oauth, client: await connect(url, { oauth, receiver }, options, stop) };
    } catch (problem) {
      await logOut(oauth, context);
      throw problem;
    }
  };
  const connected = await attempt(known).catch((problem: unknown) => {
    if (!(problem instanceof ClientForgotten)) throw problem;
    forgetClient(context.state, url.href);
    return attempt({});
  });
  const { client } = connected.oauth.remembered;
  if (client !== undefined) keepClient(context.state, url.href, { redirectUrl, client });
  return connected;
}

async function logOut(oauth: OAuthClient, { err }: Context): Promise<void> {
  if (oauth.remembered.tokens === undefined) return;
  const text = (await endLogin(oauth))
    ? 'This login is ended again: its tokens are revoked.'
    : 'The tokens of this login could not be revoked: they end by themselves.';
  err.write(`${text}\n`);
}

export async function tryEndpoint(
  typed: string | undefined,
  options: TryOptions,
  context: Context,
  stop: AbortSignal,
): Promise<number> {
  const url = new URL((await chooseEndpoint(typed, options, context)).url);
  const receiver = await openCallback(readClient(context.state, url.href)?.redirectUrl);
  try {
    const { client, oauth } = await logIn(url, receiver, options, context, stop);
    try {
      const tools = await listTools(client);
      const tried = {
        url: url.href,
        loggedIn: oauth.remembered.tokens !== undefined,
        tools,
        whoami: await askWhoIAm(client, tools),
      };
      context.out.write(options.output === 'json' ? printObject(tried, 'json') : `${printTried(tried).join('\n')}\n`);
    } finally {
      await client.close();
      await logOut(oauth, context);
    }
    return EXIT_CODES.ok;
  } catch (problem) {
    throw failureAt(url, problem, context);
  } finally {
    receiver.close();
  }
}
