import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { createServer as createTlsServer, type ServerOptions } from 'node:https';
import type { AddressInfo } from 'node:net';
import { exportJWK, generateKeyPair, SignJWT, type CryptoKey, type JWK, type JWTPayload } from 'jose';

/** A key pair with the public JWK that a key set publishes. */
export interface SigningKey {
  readonly privateKey: CryptoKey;
  readonly jwk: JWK;
  readonly alg: string;
}

export async function makeKey(kid: string | undefined, alg = 'ES256'): Promise<SigningKey> {
  const { privateKey, publicKey } = await generateKeyPair(alg, { extractable: true });
  const jwk = { ...(await exportJWK(publicKey)), alg, use: 'sig', ...(kid !== undefined && { kid }) };
  return { privateKey, jwk, alg };
}

/** Signs the claims unchanged. */
export function sign(claims: JWTPayload, key: SigningKey, header: Record<string, unknown> = {}): Promise<string> {
  const kid = key.jwk.kid === undefined ? {} : { kid: key.jwk.kid };
  return new SignJWT(claims).setProtectedHeader({ alg: key.alg, ...kid, ...header }).sign(key.privateKey);
}

type Handler = (req: IncomingMessage, res: ServerResponse, body: string) => void;

/** An identity provider on loopback. Tests may replace every answer. It records its requests. */
export interface FakeIssuer {
  readonly issuer: string;
  readonly port: number;
  /** Handler of each path; without an entry 404. */
  readonly routes: Map<string, Handler>;
  readonly asked: { path: string; authorization: string | undefined; body: string }[];
  count(path: string): number;
  close(): Promise<void>;
}

export const answerJson =
  (value: unknown, status = 200): Handler =>
  (_req, res) =>
    res.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value));

/** Starts an issuer that publishes its metadata and, at /jwks, the given keys. */
export async function startIssuer(keys: readonly JWK[], tls?: ServerOptions): Promise<FakeIssuer> {
  const asked: FakeIssuer['asked'] = [];
  const routes = new Map<string, Handler>();
  const answer = (req: IncomingMessage, res: ServerResponse) => {
    const chunks: Buffer[] = [];
    req.on('data', (chunk: Buffer) => chunks.push(chunk));
    req.on('end', () => {
      const path = req.url ?? '';
      const body = Buffer.concat(chunks).toString();
      asked.push({ path, authorization: req.headers.authorization, body });
      (routes.get(path) ?? answerJson({}, 404))(req, res, body);
    });
  };
  const server = tls ? createTlsServer(tls, answer) : createServer(answer);
  const port = await listen(server);
  const issuer = `${tls ? 'https' : 'http'}://127.0.0.1:${port}`;
  routes.set(
    '/.well-known/openid-configuration',
    answerJson({ issuer, jwks_uri: `${issuer}/jwks`, introspection_endpoint: `${issuer}/introspect` }),
  );
  routes.set('/jwks', answerJson({ keys }));
  return {
    issuer,
    port,
    routes,
    asked,
    count: (path) => asked.filter((call) => call.path === path).length,
    close: () => closeServer(server),
  };
}

export function listen(server: Server): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(0, '127.0.0.1', () => resolve((server.address() as AddressInfo).port));
  });
}

export function closeServer(server: Server): Promise<void> {
  server.closeAllConnections();
  return new Promise((resolve) => server.close(() => resolve()));
}
