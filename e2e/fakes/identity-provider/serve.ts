import { randomBytes } from 'node:crypto';
import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import type { JWTPayload } from 'jose';
import { createClientSecrets } from './client-secrets.ts';
import { createProvider, type ProviderSettings } from './create-provider.ts';
import { isFault, isPart, partOf, type Fault, type Part } from './faults.ts';
import { openState } from './kept-state.ts';
import { createSigningKeys } from './signing-keys.ts';

export interface IdentityProvider {
  port: number;
  issuer: string;
  tokenUrl: string;
  jwksUrl: string;
  /** Requests since the start, by part. */
  counts: ReadonlyMap<Part, number>;
  /** A token with these claims besides issuer, time of issue and a lifetime of one hour; claims given win. */
  sign(claims: JWTPayload, header?: Record<string, unknown>): Promise<string>;
  /** New signing key; with `dropOld` tokens of older keys no longer verify. */
  rotate(options?: { dropOld?: boolean }): Promise<void>;
  /** Makes a part fail with 503, hang, or work again. */
  setFault(part: Part, fault: Fault | undefined): void;
  close(): Promise<void>;
}

interface IdentityProviderOptions {
  port?: number;
  /** Where others reach it, as in a pod; absent: it listens on 127.0.0.1 alone. */
  issuer?: string | undefined;
  /** PEM; with it everything is served by https. */
  tls?: { readonly cert: string; readonly key: string };
  tokenLifetime?: number;
  audiences?: string[];
  redirectUris?: string[];
  /** Access tokens are opaque and open the user-info endpoint, which alone tells name and email. */
  opaque?: boolean;
  /** Keeps keys, sessions and tokens from start to start, written at the end; absent: nothing is stored. */
  stateFile?: string;
}

/** Starts a real OpenID provider with the users alice and bob, on 127.0.0.1 unless it is told where it is. */
export async function serveIdentityProvider(options: IdentityProviderOptions = {}): Promise<IdentityProvider> {
  const kept = options.stateFile === undefined ? undefined : openState(options.stateFile);
  const keys = await createSigningKeys(kept?.keys);
  const cookieKey = kept?.cookieKey ?? randomBytes(32).toString('hex');
  const faults = new Map<Part, Fault>();
  const counts = new Map<Part, number>();
  const secrets = createClientSecrets();
  let handle: (request: IncomingMessage, response: ServerResponse) => unknown = (_request, response) => response.end();

  const listener: RequestListener = (request, response) => {
    const path = (request.url ?? '/').split('?')[0] ?? '/';
    if (path === '/control') {
      void control(request, response);
      return;
    }
    const part = partOf(path);
    counts.set(part, (counts.get(part) ?? 0) + 1);
    const fault = faults.get(part) ?? faults.get('all');
    if (fault === 'fail') response.writeHead(503).end('out of order');
    else if (fault === undefined) void handle(request, response);
  };
  const http = options.tls ? createTlsServer(options.tls, listener) : createServer(listener);
  await new Promise<void>((resolve, reject) => {
    http.once('error', reject);
    http.listen(options.port ?? 0, options.issuer === undefined ? '127.0.0.1' : '::', resolve);
  });
  const { port } = http.address() as AddressInfo;
  const issuer = options.issuer ?? `http://127.0.0.1:${port}`;
  const settings: ProviderSettings = {
    issuer,
    keys,
    tokenLifetime: options.tokenLifetime ?? 3_600,
    audiences: options.audiences,
    redirectUris: options.redirectUris ?? [],
    opaque: options.opaque ?? false,
    isClientSecret: secrets.check,
    cookieKey,
    adapter: kept?.adapter,
  };
  const renew = () => {
    handle = createProvider(settings).callback();
  };
  renew();

  async function rotate(how?: { dropOld?: boolean }): Promise<void> {
    await keys.rotate(how);
    renew();
  }

  function setFault(part: Part, fault: Fault | undefined): void {
    if (fault === undefined) faults.delete(part);
    else faults.set(part, fault);
  }

  async function change(query: URLSearchParams): Promise<void> {
    const rotation = query.get('rotate');
    if (rotation !== null) await rotate({ dropOld: rotation === 'drop' });
    const [part = '', fault = ''] = (query.get('fault') ?? '').split(':');
    if (isPart(part)) setFault(part, isFault(fault) ? fault : undefined);
    const good = query.getAll('client-secret');
    if (good.length > 0) secrets.use(good);
    const lifetime = query.get('token-lifetime');
    if (lifetime === null) return;
    settings.tokenLifetime = Number(lifetime);
    renew();
  }

  /**
   * `POST /control?rotate=drop|keep`, `?fault=jwks:hang`, `?fault=jwks:none`, `?client-secret=<one>&client-secret=<other>`,
   * `?token-lifetime=<seconds>`; the answer holds the counts.
   */
  async function control(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (request.method === 'POST') await change(new URL(request.url ?? '/', issuer).searchParams);
    response.writeHead(200, { 'content-type': 'application/json' });
    const [all, broken] = [Object.fromEntries(counts), Object.fromEntries(faults)];
    response.end(JSON.stringify({ counts: all, faults: broken, secrets: secrets.tries() }));
  }

  return {
    port,
    issuer,
    tokenUrl: `${issuer}/token`,
    jwksUrl: `${issuer}/jwks`,
    counts,
    sign(claims, header) {
      const now = Math.floor(Date.now() / 1000);
      return keys.sign({ iss: issuer, iat: now, exp: now + 3_600, ...claims }, header);
    },
    rotate,
    setFault,
    close: () =>
      new Promise((resolve) => {
        http.close(() => {
          kept?.write(keys.private, cookieKey);
          resolve();
        });
        http.closeAllConnections();
      }),
  };
}
