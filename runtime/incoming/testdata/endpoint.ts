import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { connect } from 'node:net';
import { request } from 'undici';
import { Incoming, type OidcIncoming } from '#crds/run-config/incoming';
import { answerError } from '#runtime/http/answer-error';
import type { AuthenticatorOptions } from '../authenticator-options.ts';
import { createAuthenticator } from '../create-authenticator.ts';
import type { Authenticator, Identity } from '../identity.ts';
import { closeServer, listen } from './fake-issuer.ts';

export const RESOURCE = 'https://mcp.example.com/mcp';
export const START = 1_800_000_000_000;

interface Answer {
  readonly status: number;
  readonly headers: Record<string, string | string[] | undefined>;
  readonly text: string;
  readonly identity: Identity;
}

/** An endpoint on loopback behind boundary 1. It answers 200 with the identity, or the refusal. */
export interface Endpoint {
  readonly authenticator: Authenticator;
  readonly logged: string[];
  readonly clock: { time: number };
  readonly port: number;
  call(token?: string, headers?: Record<string, string>): Promise<Answer>;
  /** Sends these header lines besides Host, byte for byte. */
  raw(lines: readonly string[], path?: string): Promise<string>;
  close(): Promise<void>;
}

type Written = Partial<Omit<OidcIncoming, 'type'>> & { issuer: string };

/** Starts an endpoint with an incoming section of type oidc that allows a provider on loopback, unless `incoming` differs. */
export async function startEndpoint(incoming: Written, options: Partial<AuthenticatorOptions> = {}): Promise<Endpoint> {
  const clock = { time: START };
  const logged: string[] = [];
  const write = (message: string, fields?: unknown) => void logged.push(`${message} ${JSON.stringify(fields)}`);
  const authenticator = createAuthenticator(
    Incoming.parse({ type: 'oidc', jwks_allow_private_ip: true, ...incoming }),
    {
      resourceUrl: RESOURCE,
      limits: { jwksMaxAge: 300_000, jwksCooldown: 30_000, introspectionCache: 30_000 },
      now: () => clock.time,
      log: { debug: write, info: write, warn: write, error: write },
      readFile: (path) => readFile(path, 'utf8'),
      ...options,
    },
  );
  const server = createServer({ maxHeaderSize: 65_536 }, (req, res) => {
    Promise.resolve()
      .then(() => authenticator.authenticate(req.rawHeaders))
      .then((identity) => res.end(JSON.stringify(identity)))
      .catch((error: unknown) => answerError(res, error, { requestId: 'r1' }));
  });
  const port = await listen(server);
  return {
    authenticator,
    logged,
    clock,
    port,
    call: (token, headers) =>
      call(port, { ...(token !== undefined && { authorization: `Bearer ${token}` }), ...headers }),
    raw: (lines, path = '/mcp') => sendRaw(port, [`GET ${path} HTTP/1.1`, 'Host: x', 'Connection: close', ...lines]),
    close: () => {
      authenticator.close();
      return closeServer(server);
    },
  };
}

async function call(port: number, headers: Record<string, string>): Promise<Answer> {
  const answer = await request(`http://127.0.0.1:${port}/mcp`, { headers });
  const text = await answer.body.text();
  return { status: answer.statusCode, headers: answer.headers, text, identity: JSON.parse(text) as Identity };
}

function sendRaw(port: number, lines: readonly string[]): Promise<string> {
  return new Promise((resolve, reject) => {
    let text = '';
    const socket = connect(port, '127.0.0.1', () => socket.write(`${lines.join('\r\n')}\r\n\r\n`));
    socket.on('data', (chunk) => (text += chunk.toString()));
    socket.on('end', () => resolve(text));
    socket.on('error', reject);
  });
}
