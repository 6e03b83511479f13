import { createServer, type IncomingHttpHeaders, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, it } from '@jest/globals';
import { UnsecuredJWT } from 'jose';
import { serveMisbehaving } from '../fakes/backend/serve-misbehaving.ts';
import { servePlain } from '../fakes/backend/serve-plain.ts';
import { send, sendModern, SessionClient } from '../gateway/session-client.ts';
import { closeAll, closing, gatewayTo } from '../relay/gateway-to.ts';
import { protectedGateway } from './protected-gateway.ts';

afterEach(closeAll);

const ACCESS = 'urn:ietf:params:oauth:token-type:access_token';
const jwtFor = (audience: string, more: object = {}) =>
  new UnsecuredJWT({ aud: audience, ...more }).setExpirationTime('5m').encode();
const good = () => ({
  access_token: jwtFor('files'),
  issued_token_type: ACCESS,
  token_type: 'Bearer',
  expires_in: 300,
});

/** Starts a server on loopback that counts its requests. */
async function listening(handle: Parameters<typeof createServer>[1]): Promise<{ url: string; hits: () => number }> {
  let hits = 0;
  const server: Server = createServer((req, res) => {
    hits++;
    handle?.(req, res);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  closing({
    close: () => {
      server.closeAllConnections();
      return new Promise((resolve) => server.close(resolve));
    },
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, hits: () => hits };
}

describe('a request to a backend', () => {
  const hostile = {
    cookie: 'session=stolen',
    forwarded: 'for=6.6.6.6',
    'x-forwarded-for': '6.6.6.6',
    'x-forwarded-host': 'evil.example',
    'x-forwarded-proto': 'https',
    'x-real-ip': '6.6.6.6',
    'proxy-authorization': 'Basic eA==',
    te: 'trailers',
    upgrade: 'h2c',
    'keep-alive': 'timeout=1',
    'x-secret': 'unasked',
    'x-wanted': 'passed',
    'mcp-param-region': 'eu',
  };

  it.each(['with sessions', 'without sessions'])(
    "carries none of the client's credential, forwarding or connection headers (%s), except configured ones",
    async (era) => {
      const seen: IncomingHttpHeaders[] = [];
      const at = await protectedGateway({
        config: {
          passthrough_headers: ['X-Wanted', 'Authorization', 'Cookie', 'X-Forwarded-For', 'Host', 'Connection'],
        },
        backend: {
          intercept: (request, _response, body) => {
            if (body.includes('tools/call')) seen.push(request.headers);
            return false;
          },
        },
      });
      const bearer = await at.bearer();
      const reply =
        era === 'with sessions'
          ? await (async () => {
              const client = await SessionClient.open(at.gateway.url, bearer);
              const body = client.message('tools/call', { name: 'a_tool_0', arguments: { text: 'x' } });
              return send(at.gateway.url, 'POST', { ...client.headers, ...hostile }, body);
            })()
          : await sendModern(at.gateway.url, 'tools/call', { name: 'a_tool_0' }, { ...bearer, ...hostile });
      expect(reply.answer.result).toBeDefined();
      const [headers = {}] = seen;
      expect(headers['x-wanted']).toBe('passed');
      expect(headers.host).toBe(new URL(at.backend.url).host);
      for (const name of Object.keys(hostile).filter((one) => !['x-wanted', 'mcp-param-region'].includes(one)))
        expect(Object.keys(headers)).not.toContain(name === 'keep-alive' ? 'none' : name);
      expect(headers.authorization).toBeUndefined();
      expect(JSON.stringify(seen)).not.toContain(bearer.authorization.slice(7));
    },
  );
});

describe('the backend client', () => {
  it('follows no redirect of a backend, and does not disclose its address', async () => {
    const inside = await listening((_req, res) => res.end('metadata'));
    const backend = closing(await serveMisbehaving('redirect', { tools: 1, redirectTo: `${inside.url}/latest` }));
    const gateway = await gatewayTo({ a: backend.url });
    const client = await SessionClient.open(gateway.url);
    await client.toolNames();
    const reply = await client.call('a_tool_0', { text: 'x' });
    expect(reply.answer.error?.data).toEqual({ backend: 'a', reason: 'http_error' });
    expect(reply.text + JSON.stringify(reply.headers)).not.toContain(inside.url);
    expect(inside.hits()).toBe(0);
  });
});

describe('the token exchange', () => {
  /** Starts a gateway whose backend `a` takes exchanged tokens; its backend `b` is open. */
  async function exchanging(handle: Parameters<typeof createServer>[1], refuse = 0) {
    const service = await listening(handle);
    const seen: unknown[] = [];
    let left = refuse;
    const backend = closing(
      await servePlain({
        tools: 1,
        intercept: (request, response, body) => {
          if (!body.includes('tools/call')) return false;
          seen.push(request.headers.authorization);
          if (left-- <= 0) return false;
          response.writeHead(401, { 'www-authenticate': 'Bearer realm="inner"' }).end();
          return true;
        },
      }),
    );
    const open = closing(await servePlain({ tools: 1 }));
    const auth = {
      type: 'token_exchange' as const,
      token_url: `${service.url}/token`,
      client_id: 'vmcp',
      client_secret_file: 'secret',
      audience: 'files',
      scopes: ['read'],
    };
    const at = await protectedGateway({
      files: { secret: 'cl1ent-s3cret' },
      config: {
        backends: [
          { name: 'a', transport: 'streamable-http', url: backend.url, auth },
          { name: 'b', transport: 'streamable-http', url: open.url },
        ],
      },
    });
    const call = async (name: string, claims = {}) =>
      sendModern(at.gateway.url, 'tools/call', { name }, await at.bearer(claims));
    return { at, service, seen, call };
  }
  const answering = (value: unknown, status = 200) =>
    ((_req, res) =>
      res.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value))) as Parameters<
      typeof createServer
    >[1];

  const faults: [name: string, handle: Parameters<typeof createServer>[1]][] = [
    ['that fails', answering({ error: 'server_error', error_description: 'cl1ent-s3cret' }, 500)],
    ['that refuses', answering({ error: 'invalid_target' }, 400)],
    ['that answers with a page', (_req, res) => res.writeHead(200, { 'content-type': 'text/html' }).end('<h1>hi</h1>')],
    ['that answers with garbage', (_req, res) => res.writeHead(200, { 'content-type': 'application/json' }).end('{{{')],
    ['that redirects', (_req, res) => res.writeHead(307, { location: '/elsewhere' }).end()],
    ['that gives a token for somebody else', answering({ ...good(), access_token: jwtFor('billing') })],
    ['that gives a wider scope', answering({ ...good(), scope: 'read write admin' })],
    ['that gives another type of token', answering({ ...good(), token_type: 'DPoP' })],
    ['that gives no token', answering({ token_type: 'Bearer' })],
    ['that gives a token that breaks out of its header', answering({ ...good(), access_token: 'x\r\nx-evil: 1' })],
  ];
  it.each(faults)(
    "fails its own backend's calls only, with a clear error, at a token service %s, and does not cache the failure",
    async (_name, handle) => {
      let broken = true;
      const { at, service, seen, call } = await exchanging((req, res) => {
        if (broken) handle?.(req, res);
        else answering(good())?.(req, res);
      });
      expect((await call('b_tool_0')).answer.result).toBeDefined();
      const reply = await call('a_tool_0');
      expect(reply.answer.error).toBeDefined();
      expect(reply.status).toBe(200);
      expect(reply.text + at.gateway.log()).not.toContain('cl1ent-s3cret');
      expect(seen).toEqual([]);
      broken = false;
      let healed = reply;
      for (let i = 0; i < 40 && !healed.answer.result; i++) {
        await new Promise((resolve) => setTimeout(resolve, 100));
        healed = await call('a_tool_0');
      }
      expect(healed.answer.result).toBeDefined();
      expect(service.hits()).toBeGreaterThan(1);
    },
  );

  it('times out at a token service that never answers, and delays no other call', async () => {
    const { call } = await exchanging(() => undefined);
    const started = performance.now();
    let isStuck = true;
    const stuck = call('a_tool_0').finally(() => (isStuck = false));
    expect((await call('b_tool_0')).answer.result).toBeDefined();
    expect(isStuck).toBe(true);
    expect((await stuck).answer.error).toBeDefined();
    expect(performance.now() - started).toBeLessThan(40_000);
  });

  it('happens once for many parallel calls, and gives each caller a separate token', async () => {
    const { at, service, seen } = await exchanging((req, res) => {
      let form = '';
      req.on('data', (chunk: Buffer) => (form += chunk.toString()));
      req.on('end', () => {
        const subject = new URLSearchParams(form).get('subject_token')?.split('.')[1] ?? '';
        const { sub } = JSON.parse(Buffer.from(subject, 'base64url').toString()) as { sub: string };
        answering({ ...good(), access_token: jwtFor('files', { sub }) })?.(req, res);
      });
    });
    const [alice, bob] = [await at.bearer(), await at.bearer({ sub: 'bob' })];
    const callAs = (bearer: typeof alice) => sendModern(at.gateway.url, 'tools/call', { name: 'a_tool_0' }, bearer);
    await Promise.all(Array.from({ length: 20 }, () => callAs(alice)));
    await callAs(bob);
    await callAs(alice);
    expect(service.hits()).toBe(2);
    expect(new Set(seen).size).toBe(2);
  });

  it('happens once more if the backend refuses the token, and the runtime repeats the call once', async () => {
    let round = 0;
    const answer: Parameters<typeof createServer>[1] = (req, res) =>
      answering({ ...good(), access_token: jwtFor('files', { round: round++ }) })?.(req, res);
    const once = await exchanging(answer, 1);
    const reply = await once.call('a_tool_0');
    expect(reply.answer.result).toBeDefined();
    expect(once.seen).toHaveLength(2);
    expect(once.seen[0]).not.toBe(once.seen[1]);
    const always = await exchanging(answer, 100);
    const refused = await always.call('a_tool_0');
    expect(refused.answer.result ?? refused.answer.error).toBeDefined();
    expect(refused.answer.result?.content).toBeUndefined();
    expect(always.seen).toHaveLength(2);
    expect([refused.status, refused.headers['www-authenticate']]).toEqual([200, undefined]);
    expect(refused.text).not.toContain('realm');
  });
});
