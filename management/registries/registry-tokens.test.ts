import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterEach, expect, it } from '@jest/globals';
import { createHttpClient } from '../fetching/http-client.ts';
import { discoverIssuer } from './discover-issuer.ts';
import { RegistryLogin } from './registry-login.ts';

const closing: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

interface AskedFor {
  authorization: string | undefined;
  form: Record<string, string>;
}

interface Opened {
  login: RegistryLogin;
  /** Requests to the token endpoint. */
  asked: AskedFor[];
  clock: { now: number };
}

/** Opens a login at an issuer with this metadata, whose token endpoint sends these answers in order. */
async function open(answers: readonly object[], metadata = {}, isPerson = false): Promise<Opened> {
  const asked: AskedFor[] = [];
  const server = createServer((request, response) => {
    response.setHeader('content-type', 'application/json');
    if (request.url?.startsWith('/.well-known/') === true) {
      const endpoints = { token_endpoint: `${issuer}/token`, device_authorization_endpoint: `${issuer}/device` };
      response.end(JSON.stringify({ issuer, ...endpoints, ...metadata }));
    } else if (request.url === '/device') {
      const codes = { device_code: 'd', user_code: 'u', verification_uri: `${issuer}/log-in` };
      response.end(JSON.stringify({ ...codes, interval: 1, expires_in: 60 }));
    } else
      void text(request).then((body) => {
        asked.push({
          authorization: request.headers.authorization,
          form: Object.fromEntries(new URLSearchParams(body)),
        });
        const answer = answers[asked.length - 1] ?? { error: 'server_error' };
        response.writeHead('error' in answer ? 400 : 200).end(JSON.stringify(answer));
      });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const http = createHttpClient({ allowPrivateAddress: true, remedy: '', proxy: undefined });
  const clock = { now: 0 };
  const auth = { issuer, client_id: 'me', ...(!isPerson && { client_secret_ref: 'a/b' }) };
  const found = discoverIssuer({ issuer, clientId: 'me', clientSecret: isPerson ? undefined : 'hunter2' }, http);
  const login = new RegistryLogin({ auth, configuration: () => found, now: () => clock.now });
  closing.push(async () => {
    login.close();
    await http.close();
    const closed = once(server, 'close');
    server.close();
    server.closeAllConnections();
    await closed;
  });
  return { login, asked, clock };
}

const token = (name: string, seconds: number, more = {}) => ({
  access_token: name,
  token_type: 'bearer',
  expires_in: seconds,
  ...more,
});

it('RegistryLogin shares one token among concurrent reads and renews it before it expires', async () => {
  const { login, asked, clock } = await open([token('one', 100), token('two', 20), token('three', 100)]);
  const read = () => login.authorization();
  expect(new Set(await Promise.all([read(), read(), read()]))).toEqual(new Set(['Bearer one']));
  expect(asked).toHaveLength(1);
  for (const [now, name] of [
    [69_999, 'one'],
    [70_000, 'two'],
    [79_999, 'two'],
    [80_000, 'three'],
  ] as const) {
    clock.now = now;
    expect([now, await read()]).toEqual([now, `Bearer ${name}`]);
  }
});

it.each([
  ['as HTTP Basic, where the issuer takes that', { token_endpoint_auth_methods_supported: undefined }, true],
  [
    'as HTTP Basic, where it takes both',
    { token_endpoint_auth_methods_supported: ['client_secret_post', 'client_secret_basic'] },
    true,
  ],
  ['in the form, where it takes that alone', { token_endpoint_auth_methods_supported: ['client_secret_post'] }, false],
])('RegistryLogin sends the client secret %s', async (_how, metadata, isBasic) => {
  const { login, asked } = await open([token('one', 100)], metadata);
  await login.authorization();
  expect([asked[0]?.authorization !== undefined, asked[0]?.form.client_secret === 'hunter2']).toEqual([
    isBasic,
    !isBasic,
  ]);
});

it('RegistryLogin uses a refresh token until it is rejected, also if the issuer does not repeat it', async () => {
  const { login, asked, clock } = await open(
    [token('one', 100, { refresh_token: 'r' }), token('two', 100), token('three', 100), { error: 'invalid_grant' }],
    {},
    true,
  );
  expect(await login.authorization()).toBeUndefined();
  await new Promise<void>((resolve) => void login.begin(resolve));
  for (const name of ['one', 'two', 'three']) {
    expect(await login.authorization()).toBe(`Bearer ${name}`);
    clock.now += 100_000;
  }
  expect(asked.slice(1).map(({ form }) => form.refresh_token)).toEqual(['r', 'r']);
  expect(login.isLoggedIn).toBe(true);
  await expect(login.authorization()).rejects.toThrow('refuses: invalid_grant');
  expect([login.isLoggedIn, await login.authorization()]).toEqual([false, undefined]);
});
