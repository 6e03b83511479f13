import type { IncomingMessage, ServerResponse } from 'node:http';
import { createRemoteJWKSet, jwtVerify } from 'jose';
import { serveFake, type RunningFake } from '../mcp/serve.ts';
import { describeCaller } from '../whoami/describe-caller.ts';

interface ProtectedOptions {
  readonly issuer: string;
  /** Public URL, if it differs from the address on which it listens. */
  readonly url?: string;
  /** Wrong members of its metadata. */
  readonly metadata?: Readonly<Record<string, unknown>>;
  /** Its challenge contains the URL of its metadata (RFC 9728 §5.1); default true. */
  readonly names?: boolean;
  readonly scope?: string;
}

export interface ProtectedServer extends RunningFake {
  /** Received tokens, oldest first. */
  readonly tokens: readonly string[];
  /** Refuses tokens although they verify. */
  refuse(token: string | undefined): void;
}

/**
 * Serves a remote MCP server with one tool, `whoami`. It requires tokens of an issuer made for it, as RFC 9728
 * describes.
 */
export async function serveProtected({
  issuer,
  url: told,
  metadata = {},
  names = true,
  scope,
}: ProtectedOptions): Promise<ProtectedServer> {
  const keys = createRemoteJWKSet(new URL(`${issuer}/jwks`), { cooldownDuration: 0, cacheMaxAge: 0 });
  const tokens: string[] = [];
  const verified = new Set<string>();
  let refused: string | undefined;
  let url = '';

  const challenge = (response: ServerResponse) => {
    const place = `${new URL(url).origin}/.well-known/oauth-protected-resource/mcp`;
    const more = `${names ? `, resource_metadata="${place}"` : ''}${scope === undefined ? '' : `, scope="${scope}"`}`;
    response.writeHead(401, { 'www-authenticate': `Bearer error="invalid_token"${more}` }).end();
  };
  const describe = (response: ServerResponse) => {
    const document = { resource: url, authorization_servers: [issuer], scopes_supported: ['mcp'], ...metadata };
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(document));
  };
  const intercept = (request: IncomingMessage, response: ServerResponse): boolean => {
    if (request.url?.startsWith('/.well-known/oauth-protected-resource/mcp')) {
      describe(response);
      return true;
    }
    const token = /^Bearer (.+)$/.exec(request.headers.authorization ?? '')?.[1] ?? '';
    if (token !== '') tokens.push(token);
    if (verified.has(token) && token !== refused) return false;
    challenge(response);
    return true;
  };

  const running = await serveFake(
    {
      name: 'remote',
      tools: () => [{ name: 'whoami', description: 'Who called', inputSchema: { type: 'object' } }],
      call: (_name, _args, headers) => JSON.stringify({ content: [], structuredContent: describeCaller(headers) }),
    },
    0,
    intercept,
    undefined,
    async ({ headers: { authorization = '' } }) => {
      const token = authorization.replace(/^Bearer /, '');
      if (token === '' || verified.has(token)) return;
      await jwtVerify(token, keys, { issuer, audience: url }).then(
        () => verified.add(token),
        () => undefined,
      );
    },
  );
  url = told ?? running.url;
  return { ...running, url, tokens, refuse: (token) => (refused = token) };
}
