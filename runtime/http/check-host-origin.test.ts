import { createServer, type Server } from 'node:http';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { request } from 'undici';
import { answerError } from './answer-error.ts';
import { createHostOriginCheck, hostsAndOrigins } from './check-host-origin.ts';

describe('Host and Origin check over HTTP', () => {
  let server: Server;
  let port: number;

  beforeAll(async () => {
    server = createServer((req, res) => {
      try {
        const headers = rules.check(req.headers.host, req.headers.origin);
        for (const [name, value] of Object.entries(headers ?? {})) res.setHeader(name, value);
        if (req.method === 'OPTIONS') res.writeHead(204, rules.preflight(req.headers)).end();
        else res.end();
      } catch (error) {
        answerError(res, error, { requestId: 'r1' });
      }
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    port = (server.address() as { port: number }).port;
    const rules = createHostOriginCheck(
      hostsAndOrigins({
        urls: ['https://mcp.example.com/mcp', 'https://login.example.com:8443'],
        listen: { host: '127.0.0.1', port, tls: false },
        allowedHosts: ['vmcp-x.default.svc', 'Other.example:9000', '*.Tools.example', '*.ported.example:9000'],
        allowedOrigins: ['https://inspector.example', 'http://localhost:6274/'],
      }),
    );
  });
  afterAll(() => {
    server.closeAllConnections();
    server.close();
  });

  const call = async (headers: Record<string, string>, method: 'POST' | 'OPTIONS' = 'POST') => {
    const answer = await request(`http://127.0.0.1:${port}/mcp`, { method, headers });
    return { status: answer.statusCode, headers: answer.headers, text: await answer.body.text() };
  };
  const statusOf = async (host: string) => (await call({ host })).status;

  it.each([
    ...['mcp.example.com', 'MCP.example.com', 'mcp.example.com:443', 'login.example.com:8443', 'other.example:9000'],
    ...['vmcp-x.default.svc', 'vmcp-x.default.svc:4483'],
    ...['a.tools.example', 'A.b.tools.example:8443', 'a.ported.example:9000'],
  ])('accepts the host %s', async (host) => {
    expect(await statusOf(host)).toBe(200);
  });

  it('accepts the loopback names only with the bound port', async () => {
    for (const name of ['localhost', '127.0.0.1', '[::1]']) {
      expect(await statusOf(`${name}:${port}`)).toBe(200);
      expect(await statusOf(`${name}:${port === 1 ? 2 : 1}`)).toBe(403);
      expect(await statusOf(name)).toBe(403);
    }
  });

  it.each([
    ...['evil.example', 'mcp.example.com.evil.example', 'mcp.example.com:80', 'login.example.com', 'other.example'],
    ...['mcp.example.com:443:443', 'mcp.example.com.', '127.0.0.1.nip.io', 'vmcp-x.default.svc:x', '0.0.0.0', ' '],
    ...['tools.example', 'eviltools.example', '.tools.example', '*.tools.example', 'a.tools.example.evil.example'],
    ...['a.tools.example.', 'evil.example#.tools.example', 'a.ported.example', 'a.ported.example:9001'],
  ])('refuses the host %p, as after DNS rebinding', async (host) => {
    const { status, text } = await call({ host });
    expect([400, 403]).toContain(status);
    if (status === 403) expect(JSON.parse(text)).toMatchObject({ error: 'host_refused' });
  });

  it('accepts requests without an origin and from its own pages, without CORS headers', async () => {
    const host = 'mcp.example.com';
    for (const origin of [undefined, 'https://mcp.example.com', `http://localhost:${port}`]) {
      const { status, headers } = await call({ host, ...(origin !== undefined && { origin }) });
      expect(status).toBe(200);
      expect(headers['access-control-allow-origin']).toBeUndefined();
    }
  });

  it.each(['https://inspector.example', 'http://localhost:6274'])(
    'lets pages of %s read the answers',
    async (origin) => {
      const { status, headers } = await call({ host: 'mcp.example.com', origin });
      expect(status).toBe(200);
      expect(headers).toMatchObject({
        'access-control-allow-origin': origin,
        'access-control-expose-headers': 'Mcp-Session-Id, Retry-After, WWW-Authenticate',
        vary: 'Origin',
      });
      expect(headers['access-control-allow-credentials']).toBeUndefined();
    },
  );

  it.each([
    ...['https://evil.example', 'null', '', 'http://mcp.example.com', 'https://mcp.example.com.evil.example'],
    ...['http://localhost:6275', 'https://inspector.example:444', '*'],
  ])('refuses the origin %p', async (origin) => {
    const { status, headers, text } = await call({ host: 'mcp.example.com', origin });
    expect(status).toBe(403);
    expect(headers['access-control-allow-origin']).toBeUndefined();
    expect(JSON.parse(text)).toMatchObject({ error: 'origin_refused' });
  });

  it('answers a preflight of an allowed origin with the allowed headers and methods', async () => {
    const preflight = {
      host: 'mcp.example.com',
      origin: 'https://inspector.example',
      'access-control-request-method': 'POST',
      'access-control-request-headers': 'authorization, mcp-param-region, bad header, x\u00e4',
    };
    const { status, headers } = await call(preflight, 'OPTIONS');
    expect(status).toBe(204);
    expect(headers['access-control-allow-methods']).toBe('GET, POST, DELETE, OPTIONS');
    expect(headers['access-control-allow-headers']).toContain('Authorization, Content-Type');
    expect(headers['access-control-allow-headers']).toContain('mcp-param-region');
    expect(headers['access-control-allow-headers']).not.toMatch(/bad header|ä/);
    expect((await call({ ...preflight, origin: 'https://evil.example' }, 'OPTIONS')).status).toBe(403);
  });
});

describe('hostsAndOrigins', () => {
  const hostsOf = (host: string, port = 4483, tls = false) =>
    hostsAndOrigins({ urls: [], listen: { host, port, tls }, allowedHosts: [], allowedOrigins: [] }).hosts;

  it('returns the loopback names for a loopback listener', () => {
    const names = ['localhost:4483', '127.0.0.1:4483', '[::1]:4483'];
    for (const host of ['127.0.0.1', 'localhost', '::1', '0.0.0.0', '::']) expect(hostsOf(host)).toEqual(names);
  });

  it('returns its own address for another listener', () => {
    expect(hostsOf('10.0.0.5')).toEqual(['10.0.0.5:4483']);
    expect(hostsOf('fd00::5')).toEqual(['[fd00::5]:4483']);
  });

  it('omits a default port as browsers do', () => {
    expect(hostsOf('10.0.0.5', 443, true)).toEqual(['10.0.0.5', '10.0.0.5:443']);
    expect(hostsOf('10.0.0.5', 80)).toEqual(['10.0.0.5', '10.0.0.5:80']);
  });
});
