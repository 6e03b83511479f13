import { randomBytes } from 'node:crypto';
import { createServer, type RequestListener, type Server } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import type { JWTPayload } from 'jose';
import { createClientSecrets } from './client-secrets.ts';
import { answerControl } from './control.ts';
import { serveCurrent } from './current-provider.ts';
import { createFaults, type Fault, type Part } from './faults.ts';
import { openState } from './stored-state.ts';
import { createSigningKeys } from './signing-keys.ts';

export interface IdentityProvider {
  port: number;
  issuer: string;
  tokenUrl: string;
  jwksUrl: string;
  /** Requests since the start, by part. */
  counts: ReadonlyMap<Part, number>;
  /**
   * Signs a token with these claims. It adds issuer, time of issue and a lifetime of one hour unless the claims have
   * them.
   */
  sign(claims: JWTPayload, header?: Record<string, unknown>): Promise<string>;
  /** Adds a new signing key; with `dropOld`, tokens of older keys no longer verify. */
  rotate(options?: { dropOld?: boolean }): Promise<void>;
  /** Makes a part fail with 503, hang, or work again. */
  setFault(part: Part, fault: Fault | undefined): void;
  close(): Promise<void>;
}

interface IdentityProviderOptions {
  port?: number;
  /** Public address, as in a pod; absent: it listens on 127.0.0.1 only. */
  issuer?: string | undefined;
  /** PEM; with it, everything is served by https. */
  tls?: { readonly cert: string; readonly key: string };
  tokenLifetime?: number;
  audiences?: string[];
  redirectUris?: string[];
  /** Access tokens are opaque and open the user-info endpoint, the only source of name and email. */
  opaque?: boolean;
  /** Stores keys, sessions and tokens between starts, and writes them at the end; absent: no storage. */
  stateFile?: string;
}

/** Listens on the given address. `answer` may depend on the port, which is known only afterwards. */
async function listen({ port, issuer, tls }: IdentityProviderOptions, answer: RequestListener): Promise<Server> {
  const server = tls ? createTlsServer(tls, answer) : createServer(answer);
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port ?? 0, issuer === undefined ? '127.0.0.1' : '::', resolve);
  });
  return server;
}

/** Starts a real OpenID provider with the users alice and bob, on 127.0.0.1 without an `issuer`. */
export async function serveIdentityProvider(options: IdentityProviderOptions = {}): Promise<IdentityProvider> {
  const kept = options.stateFile === undefined ? undefined : openState(options.stateFile);
  const keys = await createSigningKeys(kept?.keys);
  const cookieKey = kept?.cookieKey ?? randomBytes(32).toString('hex');
  const [faults, secrets] = [createFaults(), createClientSecrets()];
  let answer: RequestListener = (_request, response) => void response.end();
  const http = await listen(options, (request, response) => answer(request, response));
  const { port } = http.address() as AddressInfo;
  const issuer = options.issuer ?? `http://127.0.0.1:${port}`;
  const { tokenLifetime = 3_600, audiences, redirectUris = [], opaque = false } = options;
  const asked = { issuer, tokenLifetime, audiences, redirectUris, opaque };
  const provider = serveCurrent({ ...asked, keys, isClientSecret: secrets.check, cookieKey, adapter: kept?.adapter });
  answer = (request, response) => {
    const path = (request.url ?? '/').split('?')[0] ?? '/';
    if (path === '/control') return void answerControl(request, response, { provider, faults, secrets });
    const fault = faults.meet(path);
    if (fault === 'fail') response.writeHead(503).end('out of order');
    else if (fault === undefined) provider.handle(request, response);
  };
  return {
    port,
    issuer,
    tokenUrl: `${issuer}/token`,
    jwksUrl: `${issuer}/jwks`,
    counts: faults.counts,
    sign(claims, header) {
      const now = Math.floor(Date.now() / 1000);
      return keys.sign({ iss: issuer, iat: now, exp: now + 3_600, ...claims }, header);
    },
    rotate: provider.rotate,
    setFault: faults.set,
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
