import { connect } from 'node:net';
import { afterEach, describe, expect, it } from '@jest/globals';
import { SignJWT, UnsecuredJWT } from 'jose';
import { makeKey, sign } from '#runtime/incoming/testdata/fake-issuer';
import { send, SessionClient, type Headers } from '../gateway/session-client.ts';
import { closeAll } from '../relay/gateway-to.ts';
import { protectedGateway, type ProtectedGateway } from './protected-gateway.ts';

afterEach(closeAll);

const LIST = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list' });
/** A request that the runtime sends to a backend for clients only, never for probes or list reads. */
const CALL = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'a_tool_0' } });
const HOUR = 3_600;
const now = () => Math.floor(Date.now() / 1000);

/** Sends raw bytes, and reads until the connection ends or the first answer's headers arrive. */
function raw(port: number, text: string): Promise<string> {
  return new Promise((resolve, reject) => {
    let got = '';
    const socket = connect(port, '127.0.0.1', () => socket.write(text));
    socket.setTimeout(5_000, () => socket.destroy());
    socket.on('data', (chunk) => {
      got += chunk.toString();
      if (got.includes('\r\n\r\n')) socket.end();
    });
    socket.on('close', () => resolve(got));
    socket.on('error', (error: NodeJS.ErrnoException) => (got === '' ? reject(error) : resolve(got)));
  });
}
const statusOf = (answer: string) => Number(/^HTTP\/1\.1 (\d{3})/.exec(answer)?.[1]);

describe('the token check', () => {
  type Forge = (at: ProtectedGateway) => string | Promise<string>;
  const claimsOf = ({ issuer }: ProtectedGateway) => ({
    iss: issuer.issuer,
    aud: 'vmcp',
    sub: 'alice',
    iat: now(),
    exp: now() + HOUR,
  });
  const forgeries: [name: string, forge: Forge][] = [
    ['without a signature', (at) => new UnsecuredJWT(claimsOf(at)).encode()],
    [
      'signed with the public key as a shared secret',
      (at) =>
        new SignJWT(claimsOf(at))
          .setProtectedHeader({ alg: 'HS256', kid: 'k' })
          .sign(Buffer.from(JSON.stringify(at.key.jwk))),
    ],
    [
      'that brings its own key set (jku)',
      async (at) => sign(claimsOf(at), await makeKey('k'), { jku: `${at.issuer.issuer}/evil` }),
    ],
    [
      'that brings its own certificate (x5u)',
      async (at) => sign(claimsOf(at), await makeKey('k'), { x5u: 'http://evil' }),
    ],
    [
      'that brings its own key (jwk)',
      async (at) => {
        const own = await makeKey('k');
        return sign(claimsOf(at), own, { jwk: own.jwk });
      },
    ],
    ['of another type', (at) => at.token({}, { typ: 'logout+jwt' })],
    ['that is an ID token', (at) => at.token({ nonce: 'n', at_hash: 'h' })],
    ['for a sibling', (at) => at.token({ aud: 'vmcp-2' })],
    ['for nobody', (at) => at.token({ aud: undefined })],
    ['of another issuer', (at) => at.token({ iss: 'https://evil.example' })],
    ['that is over', (at) => at.token({ exp: now() - HOUR })],
    ['that is not valid yet', (at) => at.token({ nbf: now() + HOUR })],
    ['without an end', (at) => at.token({ exp: undefined })],
    ['without a subject', (at) => at.token({ sub: undefined })],
    ['that is not one', () => 'nonsense'],
  ];

  it.each(forgeries)('refuses a token %s with a challenge, and calls no backend', async (_name, forge) => {
    const at = await protectedGateway();
    const forged = await forge(at);
    const reply = await send(at.gateway.url, 'POST', { authorization: `Bearer ${forged}` }, CALL);
    expect(reply.status).toBe(401);
    expect(reply.headers['www-authenticate']).toMatch(/^Bearer .*resource_metadata="[^"]+".*error="invalid_token"/);
    expect(reply.text + JSON.stringify(reply.headers)).not.toContain(forged);
    expect(at.issuer.count('/evil')).toBe(0);
    expect(at.backend.counts.get('tools/call')).toBeUndefined();
  });

  it('accepts a token within the clock skew, and refuses one beyond it', async () => {
    const at = await protectedGateway();
    const status = async (claims: object) =>
      (await send(at.gateway.url, 'POST', await at.bearer(claims as Record<string, unknown>), LIST)).status;
    // 400: authenticated, but there is no session.
    expect(await status({ nbf: now() + 15 })).toBe(400);
    expect(await status({ exp: now() - 300, iat: now() - 900 })).toBe(401);
  });

  it('ignores a token in the query or the body', async () => {
    const at = await protectedGateway();
    const token = await at.token();
    const form = { 'content-type': 'application/x-www-form-urlencoded' };
    expect((await send(`${at.gateway.url}?access_token=${token}`, 'POST', {}, LIST)).status).toBe(401);
    expect((await send(at.gateway.url, 'POST', form, `access_token=${token}`)).status).toBe(401);
    expect(at.gateway.log()).not.toContain(token);
  });

  it('refuses two Authorization headers, even if both are the same', async () => {
    const at = await protectedGateway();
    const line = `Authorization: Bearer ${await at.token()}\r\n`;
    const { port } = at.gateway.runtime.address;
    const request = (lines: string) =>
      `POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nContent-Type: application/json\r\nContent-Length: ${LIST.length}\r\n${lines}\r\n${LIST}`;
    expect(statusOf(await raw(port, request(line)))).toBe(400);
    expect(statusOf(await raw(port, request(line + line)))).toBe(401);
  });
});

describe('the endpoint', () => {
  it.each([
    '/mcp/',
    '//mcp',
    '/MCP',
    '/%6dcp',
    '/mcp%2f',
    '/mcp/.',
    '/x/../mcp',
    '/mcp;a=b',
    '/mcp\\',
    'http://127.0.0.1/mcp',
    '*',
  ])('does not serve the path %s', async (path) => {
    const at = await protectedGateway();
    const { port } = at.gateway.runtime.address;
    const text = `POST ${path} HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nContent-Type: application/json\r\nContent-Length: ${LIST.length}\r\n\r\n${LIST}`;
    expect([404, 400, 401]).toContain(statusOf(await raw(port, text)));
  });

  it("asks every method except a browser's preflight for a token", async () => {
    const at = await protectedGateway();
    for (const method of ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'HEAD', 'OPTIONS', 'TRACE']) {
      expect([method, (await send(at.gateway.url, method, {})).status]).toEqual([method, 401]);
    }
    const preflight = { origin: at.gateway.origin, 'access-control-request-method': 'POST' };
    expect((await send(at.gateway.url, 'OPTIONS', preflight)).status).toBe(204);
    expect((await send(at.gateway.url, 'PUT', await at.bearer())).status).toBe(405);
  });

  it('ignores the query of its path', async () => {
    const at = await protectedGateway();
    expect((await send(`${at.gateway.url}?a=/b`, 'POST', {}, LIST)).status).toBe(401);
  });
});

describe('the Host and Origin check', () => {
  const cases: [name: string, headers: Headers][] = [
    ['a rebound name', { host: 'evil.example' }],
    ['a foreign port', { host: '127.0.0.1:1' }],
    ['a name that begins like ours', { host: '127.0.0.1.evil.example' }],
    ['a foreign page', { origin: 'https://evil.example' }],
    ['a page without an origin of its own', { origin: 'null' }],
    ['a page of the same host and another scheme', { origin: 'https://127.0.0.1' }],
  ];
  it.each(cases)('refuses a foreign name (%s) before all other checks', async (_name, headers) => {
    const at = await protectedGateway();
    const reply = await send(at.gateway.url, 'POST', { ...(await at.bearer()), ...headers }, LIST);
    expect(reply.status).toBe(403);
    expect(reply.headers['access-control-allow-origin']).toBeUndefined();
  });

  it("does not take the endpoint's announced addresses from forwarding headers", async () => {
    const at = await protectedGateway();
    const poisoned = {
      'x-forwarded-host': 'evil.example',
      'x-forwarded-proto': 'https',
      forwarded: 'host=evil.example',
    };
    const refused = await send(at.gateway.url, 'POST', poisoned, LIST);
    const metadata = await send(`${at.gateway.origin}/.well-known/oauth-protected-resource/mcp`, 'GET', poisoned);
    expect(String(refused.headers['www-authenticate']) + metadata.text).not.toContain('evil');
    expect(JSON.parse(metadata.text)).toMatchObject({ resource: at.gateway.url });
  });
});

describe('the key source', () => {
  it('fetches the keys once for unknown key ids, and not again until the cool-down ends', async () => {
    const at = await protectedGateway();
    await send(at.gateway.url, 'POST', await at.bearer(), LIST);
    const before = at.issuer.count('/jwks');
    const stranger = await makeKey('other');
    for (let i = 0; i < 10; i++) {
      const claims = { iss: at.issuer.issuer, aud: 'vmcp', sub: `s${i}`, iat: now(), exp: now() + HOUR };
      const authorization = `Bearer ${await sign(claims, stranger, { kid: `unknown-${i}` })}`;
      expect((await send(at.gateway.url, 'POST', { authorization }, LIST)).status).toBe(401);
    }
    expect(at.issuer.count('/jwks') - before).toBeLessThanOrEqual(1);
  });

  it('fetches no keys from a private address unless the configuration allows it', async () => {
    await expect(protectedGateway({ incoming: { jwks_allow_private_ip: false } })).rejects.toThrow(
      'incoming.issuer: 127.0.0.1 is a private address; set jwksAllowPrivateIP to allow it',
    );
  });

  it('follows no redirect to the keys', async () => {
    const at = await protectedGateway();
    at.issuer.routes.set('/jwks', (_req, res) => res.writeHead(302, { location: '/elsewhere' }).end());
    expect((await send(at.gateway.url, 'POST', await at.bearer(), LIST)).status).toBe(503);
    expect(at.issuer.count('/elsewhere')).toBe(0);
  });

  it('answers 503 without the reason while the keys are unavailable, and serves again when they are back', async () => {
    const at = await protectedGateway({ config: { limits: { jwks_cooldown: '1s' } } });
    const keys = at.issuer.routes.get('/jwks');
    at.issuer.routes.set('/jwks', (_req, res) => res.writeHead(500).end('s3cret trace'));
    const reply = await send(at.gateway.url, 'POST', await at.bearer(), LIST);
    expect([reply.status, reply.headers['www-authenticate']]).toEqual([503, undefined]);
    expect(reply.text).not.toContain('s3cret');
    if (keys) at.issuer.routes.set('/jwks', keys);
    let status = 503;
    for (let i = 0; i < 60 && status === 503; i++) {
      await new Promise((resolve) => setTimeout(resolve, 100));
      ({ status } = await send(at.gateway.url, 'POST', await at.bearer(), LIST));
    }
    expect(status).toBe(400);
  });
});

describe('token introspection', () => {
  const incoming = { client_id: 'vmcp', client_secret_file: 'secret', protected_resource_allow_private_ip: true };
  const opaque = (at: ProtectedGateway) => send(at.gateway.url, 'POST', { authorization: 'Bearer opaque' }, LIST);
  const answers: [name: string, status: number, claims: Record<string, unknown>][] = [
    ['takes a token that is active and for us', 400, { aud: 'vmcp' }],
    ['refuses one for somebody else', 401, { aud: 'other' }],
    ['refuses one for nobody', 401, { aud: undefined }],
    ['refuses one that is not active', 401, { aud: 'vmcp', active: false }],
    ['refuses one of another issuer', 401, { aud: 'vmcp', iss: 'https://evil.example' }],
    ['refuses one that is over', 401, { aud: 'vmcp', exp: now() - HOUR }],
  ];
  it.each(answers)('%s', async (_name, status, claims) => {
    const at = await protectedGateway({ incoming, files: { secret: 'client-s3cret' } });
    at.issuer.routes.set('/introspect', (_req, res) =>
      res
        .writeHead(200, { 'content-type': 'application/json' })
        .end(JSON.stringify({ active: true, sub: 'alice', iss: at.issuer.issuer, exp: now() + HOUR, ...claims })),
    );
    expect((await opaque(at)).status).toBe(status);
  });

  it.each([
    ['fails', 500, '{}'],
    ['answers with a page', 200, '<h1>no</h1>'],
    ['redirects', 302, ''],
  ])('answers 503 if the introspection endpoint %s', async (_how, status, body) => {
    const at = await protectedGateway({ incoming, files: { secret: 'client-s3cret' } });
    at.issuer.routes.set('/introspect', (_req, res) => res.writeHead(status, { location: '/elsewhere' }).end(body));
    expect((await opaque(at)).status).toBe(503);
    expect(at.issuer.count('/elsewhere')).toBe(0);
    expect(at.gateway.log()).not.toContain('client-s3cret');
  });
});

describe('the request body check', () => {
  const open = async (limit?: number) => {
    const at = await protectedGateway({
      config: { incoming: { type: 'anonymous' }, ...(limit ? { limits: { max_request_bytes: limit } } : {}) },
    });
    return { at, client: await SessionClient.open(at.gateway.url) };
  };
  const call = (args: string) =>
    `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a_tool_0","arguments":${args}}}`;
  const bodies: [name: string, status: number, code: number, body: string | Buffer][] = [
    ['nested ten thousand deep', 400, -32600, call(`{"a":${'['.repeat(10_000)}${']'.repeat(10_000)}}`)],
    ['with a key twice in the envelope', 400, -32600, `{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}`],
    ['with a key twice in params', 400, -32600, call('{}').replace('"name"', '"name":"a_tool_1","name"')],
    ['with an escaped key twice', 400, -32600, call('{}').replace('"name"', '"n\\u0061me":"a_tool_1","name"')],
    ['with a key in another case', 400, -32600, call('{}').replace('"name"', '"Name":"a_tool_1","name"')],
    ['with a method in another case', 400, -32600, '{"jsonrpc":"2.0","id":1,"method":"ping","Method":"tools/call"}'],
    ['that is a batch', 400, -32600, `[${call('{}')}]`],
    ['that is an empty batch', 400, -32600, '[]'],
    ['that is no UTF-8', 400, -32700, Buffer.concat([Buffer.from(call('{}').slice(0, -3)), Buffer.from([0xff, 0xfe])])],
    ['that is no JSON', 400, -32700, '{"jsonrpc":'],
    ['that is empty', 400, -32700, ''],
    ['with an id of null', 400, -32600, '{"jsonrpc":"2.0","id":null,"method":"ping"}'],
    ['with an id that is an object', 400, -32600, '{"jsonrpc":"2.0","id":{},"method":"ping"}'],
    ['with params that are a list', 400, -32600, '{"jsonrpc":"2.0","id":1,"method":"ping","params":[]}'],
  ];
  it.each(bodies)('refuses a body %s, and calls no backend', async (_name, status, code, body) => {
    const { at, client } = await open();
    const reply = await send(at.gateway.url, 'POST', client.headers, body);
    expect([reply.status, (JSON.parse(reply.text) as { error: { code: number } }).error.code]).toEqual([status, code]);
    expect(at.backend.counts.get('tools/call')).toBeUndefined();
  });

  it('refuses a content type other than JSON', async () => {
    const { at, client } = await open();
    for (const type of ['text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data', 'application/jsonp'])
      expect((await send(at.gateway.url, 'POST', { ...client.headers, 'content-type': type }, LIST)).status).toBe(415);
  });

  it('refuses 100 MB by the announced length, without reading the body', async () => {
    const { at, client } = await open();
    const { port } = at.gateway.runtime.address;
    const headers = Object.entries(client.headers).map(([name, value]) => `${name}: ${value}\r\n`);
    const head = `POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nContent-Type: application/json\r\nContent-Length: 100000000\r\n${headers.join('')}\r\n`;
    expect(statusOf(await raw(port, head))).toBe(413);
  });

  it('refuses 100 MB in chunks at the limit, with bounded memory', async () => {
    const { at, client } = await open(65_536);
    const before = process.memoryUsage.rss();
    const { port } = at.gateway.runtime.address;
    const answer = await new Promise<{ text: string; sent: number }>((resolve) => {
      let text = '';
      let sent = 0;
      const socket = connect(port, '127.0.0.1', () => {
        const headers = Object.entries(client.headers).map(([name, value]) => `${name}: ${value}\r\n`);
        socket.write(
          `POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n${headers.join('')}\r\n`,
        );
        const chunk = Buffer.from(`10000\r\n${' '.repeat(65_536)}\r\n`);
        const more = () => {
          while (!socket.destroyed && sent < 100_000_000) {
            sent += chunk.length;
            if (!socket.write(chunk)) {
              socket.once('drain', more);
              return;
            }
          }
        };
        more();
      });
      socket.on('data', (data) => (text += data.toString()));
      socket.on('error', () => undefined);
      socket.on('close', () => resolve({ text, sent }));
      setTimeout(() => socket.destroy(), 5_000).unref();
    });
    expect(statusOf(answer.text)).toBe(413);
    expect(answer.sent).toBeLessThan(20_000_000);
    expect(process.memoryUsage.rss() - before).toBeLessThan(60_000_000);
    expect((await client.request('ping')).status).toBe(200);
  });
});
