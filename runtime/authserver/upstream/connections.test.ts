import { readFileSync } from 'node:fs';
import { createServer, request as forward } from 'node:http';
import { afterEach, describe, expect, it } from '@jest/globals';
import { Upstream } from '#crds/run-config/auth-server';
import { serveIdentityProvider } from '../../../e2e/fakes/identity-provider/serve.ts';
import { GATEWAY_CLIENT } from '../../../e2e/fakes/identity-provider/users.ts';
import { isRedirectOf, Robot } from '../../../e2e/robot/robot.ts';
import { closeServer, listen, startIssuer } from '../../incoming/testdata/fake-issuer.ts';
import { newId } from '../ids.ts';
import { createProvider } from './create-provider.ts';
import type { ProviderDeps } from './provider-deps.ts';
import type { UpstreamProvider } from './provider.ts';
import { REDIRECT } from './testdata/login-step.ts';

const testdata = new URL('../../incoming/testdata/', import.meta.url);
const CERTIFICATE = readFileSync(new URL('loopback-cert.pem', testdata), 'utf8');
const KEY = readFileSync(new URL('loopback-key.pem', testdata), 'utf8');

const opened: { close(): Promise<void> }[] = [];
const keep = <T extends { close(): Promise<void> }>(one: T): T => {
  opened.push(one);
  return one;
};
const warned: unknown[][] = [];
afterEach(async () => {
  warned.length = 0;
  for (const one of opened.splice(0).reverse()) await one.close();
});

function provide(oidc_config: object, deps: Partial<ProviderDeps> = {}, more: object = {}): UpstreamProvider {
  const upstream = Upstream.parse({ type: 'oidc', name: 'idp', oidc_config, ...more });
  const provider = createProvider(upstream, {
    redirectUri: REDIRECT,
    isPrimary: true,
    allowHttp: false,
    readSecret: (file) => (file === 'ca' ? CERTIFICATE : GATEWAY_CLIENT.secret),
    proxy: undefined,
    log: {
      debug: () => undefined,
      info: () => undefined,
      warn: (...line) => void warned.push(line),
      error: () => undefined,
    },
    now: Date.now,
    ...deps,
  });
  return keep(provider);
}

const loginStep = () => ({ verifier: newId(), nonce: newId(), state: newId() });

describe('OpenID Connect provider', () => {
  it.each([false, true])('logs in, identifies the user and renews (opaque tokens: %s)', async (opaque) => {
    const idp = keep(await serveIdentityProvider({ redirectUris: [REDIRECT], opaque }));
    const provider = provide({ issuer_url: idp.issuer, client_id: GATEWAY_CLIENT.id, client_secret_file: 'secret' });
    const secrets = loginStep();
    const url = await provider.authorizationUrl({ ...secrets, forceLogin: false });
    const { next } = await new Robot().walk(url, { user: 'alice' }, { before: isRedirectOf(url) });
    const { tokens, identity } = await provider.finish(next!, secrets);
    expect(identity).toMatchObject({ issuer: idp.issuer, subject: 'alice', name: 'Alice Example' });
    expect(identity?.claims).toMatchObject({ groups: ['engineering', 'writers'], email_verified: true });
    expect(tokens.access_token.startsWith('eyJ')).toBe(!opaque);
    const renewed = await provider.refresh(tokens);
    expect(renewed.access_token).not.toBe(tokens.access_token);
    expect(renewed.refresh_token).toBeDefined();
    if (opaque) expect(await provider.identify(renewed)).toMatchObject({ subject: 'alice', name: 'Alice Example' });
  });
});

describe('connections to a provider', () => {
  async function startIssuerOverTls() {
    const idp = keep(await startIssuer([], { cert: CERTIFICATE, key: KEY }));
    const metadata = {
      issuer: idp.issuer,
      authorization_endpoint: `${idp.issuer}/authorize`,
      token_endpoint: `${idp.issuer}/token`,
      jwks_uri: `${idp.issuer}/jwks`,
    };
    idp.routes.set('/.well-known/openid-configuration', (_req, res) =>
      res.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(metadata)),
    );
    return { issuer_url: idp.issuer, client_id: 'x' };
  }

  it('trust the certificate authorities of the configured bundle', async () => {
    const config = await startIssuerOverTls();
    await expect(provide(config).authorizationUrl({ ...loginStep(), forceLogin: false })).rejects.toThrow(
      /cannot be called/,
    );
    const trusting = provide(config, {}, { ca_bundle_file: 'ca' });
    expect(await trusting.authorizationUrl({ ...loginStep(), forceLogin: true })).toContain('prompt=login');
  });

  it('keep the former authorities while the bundle has none, and warn once', async () => {
    const config = await startIssuerOverTls();
    let bundle = CERTIFICATE;
    const provider = provide(config, { readSecret: () => bundle }, { ca_bundle_file: 'ca' });
    bundle = 'no certificate';
    expect(await provider.authorizationUrl({ ...loginStep(), forceLogin: true })).toContain('prompt=login');
    const callback = new URL(`${REDIRECT}?state=s&code=c`);
    await provider.finish(callback, { ...loginStep(), state: 's' }).catch(() => undefined);
    const reason: unknown = expect.stringMatching(/^upstream idp: ca has no certificate/);
    expect(warned).toEqual([
      ['changed CA bundle of a provider cannot be used; the former stays', { provider: 'idp', reason }],
    ]);
  });

  it('use the proxy of the environment', async () => {
    const asked: string[] = [];
    const idp = keep(await serveIdentityProvider());
    const proxy = createServer((req, res) => {
      asked.push(req.url ?? '');
      const onward = forward(`${idp.issuer}/.well-known/openid-configuration`, (answer) => {
        res.writeHead(answer.statusCode ?? 500, answer.headers);
        answer.pipe(res);
      });
      onward.end();
    });
    proxy.on('connect', (req, socket) => {
      asked.push(req.url ?? '');
      socket.end('HTTP/1.1 502 Bad Gateway\r\n\r\n');
    });
    const port = await listen(proxy);
    keep({ close: () => closeServer(proxy) });
    const url = { httpProxy: `http://127.0.0.1:${port}`, httpsProxy: `http://127.0.0.1:${port}` };
    const provider = provide({ issuer_url: idp.issuer, client_id: 'x' }, { proxy: url });
    await provider.authorizationUrl({ ...loginStep(), forceLogin: false }).catch(() => undefined);
    expect(asked).toHaveLength(1);
    expect(asked[0]).toContain(new URL(idp.issuer).host);
  });

  it('never use plain http to another machine, even if a document names it', async () => {
    const idp = keep(await startIssuer([]));
    const issuer = idp.issuer;
    const metadata = { issuer, authorization_endpoint: `${issuer}/a`, token_endpoint: 'http://192.0.2.1/token' };
    idp.routes.set('/.well-known/openid-configuration', (_req, res) =>
      res.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(metadata)),
    );
    const provider = provide({ issuer_url: issuer, client_id: 'x' });
    const secrets = loginStep();
    const callback = new URL(`${REDIRECT}?${new URLSearchParams({ state: secrets.state, code: 'c' }).toString()}`);
    await expect(provider.finish(callback, secrets)).rejects.toThrow('idp: 192.0.2.1 is not called over http:');
  });
});
