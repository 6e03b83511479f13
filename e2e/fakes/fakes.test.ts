import { afterEach, describe, expect, it } from '@jest/globals';
import { decodeJwt } from 'jose';
import { serveMisbehaving } from './backend/serve-misbehaving.ts';
import { fetchToken } from './identity-provider/fetch-token.ts';
import { serveIdentityProvider, type IdentityProvider } from './identity-provider/serve.ts';
import { GATEWAY_CLIENT } from './identity-provider/users.ts';
import { shortHash } from './whoami/describe-caller.ts';
import { serveWhoami } from './whoami/serve.ts';

const META = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientCapabilities': {},
};

const opened: { close(): Promise<void> }[] = [];
const open = async <T extends { close(): Promise<void> }>(starting: Promise<T>): Promise<T> => {
  const server = await starting;
  opened.push(server);
  return server;
};

afterEach(async () => {
  await Promise.all(opened.splice(0).map((server) => server.close()));
});

function call(url: string, name: string, headers: Record<string, string> = {}): Promise<Response> {
  const message = { jsonrpc: '2.0', id: 5, method: 'tools/call', params: { name, _meta: META } };
  return fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'mcp-name': name, ...headers },
    body: JSON.stringify(message),
    signal: AbortSignal.timeout(5_000),
  });
}

function exchange(
  provider: IdentityProvider,
  token: string,
  audience: string,
  { id, secret } = GATEWAY_CLIENT,
): Promise<Response> {
  const pair = Buffer.from(`${id}:${secret}`).toString('base64');
  return fetch(provider.tokenUrl, {
    method: 'POST',
    headers: { authorization: `Basic ${pair}` },
    body: new URLSearchParams({
      grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange',
      subject_token: token,
      subject_token_type: 'urn:ietf:params:oauth:token-type:access_token',
      audience,
    }),
    signal: AbortSignal.timeout(5_000),
  });
}

describe('the whoami fixture', () => {
  it('returns subject, audience and header names, and shows secrets only as hashes', async () => {
    const whoami = await open(serveWhoami());
    const claims = Buffer.from(JSON.stringify({ sub: 'alice', aud: 'whoami' })).toString('base64url');
    const response = await call(whoami.url, 'whoami', { authorization: `Bearer h.${claims}.s`, 'x-api-key': 'sesame' });
    const text = await response.text();
    expect(JSON.parse(text).result.structuredContent).toMatchObject({
      subject: 'alice',
      audience: ['whoami'],
      headerHashes: { 'x-api-key': expect.stringMatching(/^[0-9a-f]{16}$/) },
    });
    expect(text).not.toContain('sesame');
  });
});

describe('the identity provider fixture', () => {
  it('gives alice a token for the resource that she names, with her groups', async () => {
    const provider = await open(serveIdentityProvider());
    const claims = decodeJwt(await fetchToken(provider.issuer, 'alice', 'http://127.0.0.1:4483/mcp'));
    expect(claims).toMatchObject({
      iss: provider.issuer,
      sub: 'alice',
      aud: 'http://127.0.0.1:4483/mcp',
      groups: ['engineering', 'writers'],
    });
  });

  it('shows its address and its users on the login page', async () => {
    const provider = await open(serveIdentityProvider({ redirectUris: ['http://127.0.0.1:4483/back'] }));
    const url = new URL(`${provider.issuer}/auth`);
    url.search = new URLSearchParams({
      client_id: GATEWAY_CLIENT.id,
      response_type: 'code',
      redirect_uri: 'http://127.0.0.1:4483/back',
      scope: 'openid',
    }).toString();
    const sent = await fetch(url, { redirect: 'manual' });
    const cookie = sent.headers.getSetCookie().map((line) => line.split(';', 1)[0]);
    const form = new URL(sent.headers.get('location') ?? '', provider.issuer);
    const page = await (await fetch(form, { headers: { cookie: cookie.join('; ') } })).text();
    expect(page).toContain(new URL(provider.issuer).host);
    expect(page).toContain('pattern="alice|bob"');
    expect(page).not.toMatch(/@import|https:/);
  });

  it('exchanges a token for one with another audience that names the actor', async () => {
    const provider = await open(serveIdentityProvider());
    const token = await fetchToken(provider.issuer, 'bob', 'http://127.0.0.1:4483/mcp');
    const answer = (await (await exchange(provider, token, 'whoami')).json()) as { access_token: string };
    expect(decodeJwt(answer.access_token)).toMatchObject({ sub: 'bob', aud: 'whoami', act: { sub: 'vmcp' } });
  });

  it('refuses an audience that is not on its list', async () => {
    const provider = await open(serveIdentityProvider({ audiences: ['whoami'] }));
    const token = await provider.sign({ sub: 'bob', aud: 'x' });
    const response = await exchange(provider, token, 'elsewhere');
    expect([response.status, await response.json()]).toMatchObject([400, { error: 'invalid_target' }]);
  });

  it('keeps old keys on rotation, unless told to drop them', async () => {
    const provider = await open(serveIdentityProvider());
    const token = await provider.sign({ sub: 'bob', aud: 'x' });
    await provider.rotate();
    expect((await exchange(provider, token, 'whoami')).status).toBe(200);
    await provider.rotate({ dropOld: true });
    expect((await exchange(provider, token, 'whoami')).status).toBe(400);
  });

  it('accepts the configured client secrets, and counts the uses of each', async () => {
    const provider = await open(serveIdentityProvider());
    const token = await provider.sign({ sub: 'bob', aud: 'x' });
    const statuses = async () => {
      const secrets = [GATEWAY_CLIENT.secret, 'second'];
      const tried = secrets.map((secret) => exchange(provider, token, 'whoami', { ...GATEWAY_CLIENT, secret }));
      return (await Promise.all(tried)).map(({ status }) => status);
    };
    const use = async (...secrets: string[]) => {
      const query = secrets.map((secret) => `client-secret=${secret}`).join('&');
      const signal = AbortSignal.timeout(5_000);
      const answer = await fetch(`${provider.issuer}/control?${query}`, { method: 'POST', signal });
      return ((await answer.json()) as { secrets: Record<string, number> }).secrets;
    };
    expect(await statuses()).toEqual([200, 401]);
    await use(GATEWAY_CLIENT.secret, 'second');
    expect(await statuses()).toEqual([200, 200]);
    await use('second');
    expect(await statuses()).toEqual([401, 200]);
    expect(await use('second')).toEqual({ [shortHash(GATEWAY_CLIENT.secret)]: 3, [shortHash('second')]: 3 });
  });

  it('fails only in the configured part', async () => {
    const provider = await open(serveIdentityProvider());
    provider.setFault('jwks', 'fail');
    expect((await fetch(provider.jwksUrl)).status).toBe(503);
    expect((await fetch(`${provider.issuer}/.well-known/openid-configuration`)).status).toBe(200);
  });
});

describe('a misbehaving backend', () => {
  it('answers with another id, then correctly again', async () => {
    const backend = await open(serveMisbehaving('wrongId'));
    expect(await (await call(backend.url, 'tool_1')).json()).toMatchObject({ id: 'not-the-id-you-sent' });
    backend.behaveLike(undefined);
    expect(await (await call(backend.url, 'tool_1')).json()).toMatchObject({
      id: 5,
      result: { resultType: 'complete' },
    });
  });

  it('sends as many bytes as configured', async () => {
    const backend = await open(serveMisbehaving('huge', { bytes: 3_000_000 }));
    const body = await (await call(backend.url, 'tool_1')).arrayBuffer();
    expect(body.byteLength).toBeGreaterThan(3_000_000);
  });

  it('breaks the connection in the middle of an answer', async () => {
    const backend = await open(serveMisbehaving('diesMidAnswer'));
    await expect(call(backend.url, 'tool_1').then((response) => response.text())).rejects.toThrow();
  });
});
