// An MCP server that asks a provider's API who the user is, with the token of the request. A token that the provider does not
// take is answered with 401, as servers do that guard their users' data.
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { parseArgs } from 'node:util';
import { z } from 'zod';
import { answerRequest, type FakeServer, type Message } from '../../e2e/fakes/mcp/answer.ts';

const { values } = parseArgs({
  options: {
    port: { type: 'string', default: '0' },
    provider: { type: 'string', default: '' },
    /** URL of the API that returns the owner of a token. */
    url: { type: 'string', default: '' },
    method: { type: 'string', default: 'GET' },
  },
});
const { provider, url, method } = values;

const DEADLINE = 5000;
const LARGEST = 65_536;
/** Members by which providers name a user: GitHub, Google, Slack, which says at HTTP 200 that a token is not valid. */
const Account = z.object({
  login: z.string().optional(),
  name: z.string().nullish(),
  email: z.string().nullish(),
  user: z.string().optional(),
  error: z.string().optional(),
});

/** Users to whom the emulated providers assign an unknown token. */
const NOBODY = /^(nobody|nobody@.*|admin)$/;

/** Returns the account of the token, or undefined if the provider refuses it. */
async function askProvider(authorization: string): Promise<Record<string, unknown> | undefined> {
  const answer = await fetch(url, { method, headers: { authorization }, signal: AbortSignal.timeout(DEADLINE) });
  if (!answer.ok) return undefined;
  const { login, name, email, user, error } = Account.parse(await answer.json());
  const subject = login ?? email ?? user ?? '';
  if (error !== undefined || NOBODY.test(subject)) return undefined;
  return { subject, name: name ?? null, email: email ?? null, issuer: new URL(url).origin };
}

function describe(account: Record<string, unknown>): FakeServer {
  const description = `Tells who the user is at ${provider}`;
  return {
    name: provider,
    cacheScope: 'private',
    tools: () => [{ name: 'whoami', description, inputSchema: { type: 'object', properties: {} } }],
    call: (name) =>
      name === 'whoami'
        ? JSON.stringify({ content: [{ type: 'text', text: JSON.stringify(account) }], structuredContent: account })
        : undefined,
  };
}

async function read(request: IncomingMessage): Promise<Message> {
  let body = '';
  for await (const part of request) {
    body += String(part);
    if (body.length > LARGEST) throw new Error('too long');
  }
  return JSON.parse(body) as Message;
}

async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
  if (request.method !== 'POST') {
    response.writeHead(405).end();
    return;
  }
  const message = await read(request);
  const { authorization } = request.headers;
  const account = authorization === undefined ? undefined : await askProvider(authorization);
  if (!account) response.writeHead(401, { 'www-authenticate': 'Bearer error="invalid_token"' }).end();
  else if (message.id === undefined) response.writeHead(202).end();
  else {
    const { status, body } = await answerRequest(describe(account), message, request.headers);
    response.writeHead(status, { 'content-type': 'application/json' }).end(body);
  }
}

const server = createServer((request, response) => {
  serve(request, response).catch(() => response.writeHead(500).end());
});
server.listen(Number(values.port), '127.0.0.1', () => console.log(`${provider}: ${url}`));

for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => {
    server.close();
    server.closeAllConnections();
  });
}
