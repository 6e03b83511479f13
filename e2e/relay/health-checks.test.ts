import { createServer, type AddressInfo, type Socket } from 'node:net';
import { afterEach, describe, expect, it } from '@jest/globals';
import { behave } from '../fakes/backend/behaviours.ts';
import { serveMisbehaving } from '../fakes/backend/serve-misbehaving.ts';
import { servePlain } from '../fakes/backend/serve-plain.ts';
import { send, SessionClient } from '../gateway/session-client.ts';
import { until } from '../gateway/until.ts';
import type { ServedGateway } from '../gateway/serve-gateway.ts';
import { closeAll, closing, gatewayTo } from './gateway-to.ts';

afterEach(closeAll);

const KNOBS = { bytes: 0, delayMs: 0, redirectTo: '' };

async function messageOf(gateway: ServedGateway): Promise<string | undefined> {
  const { text } = await send(`http://127.0.0.1:${gateway.runtime.address.privatePort}/status`, 'GET', {});
  return (JSON.parse(text) as { backends: { message: string }[] }).backends[0]?.message;
}

describe('a health check', () => {
  it('stops after health_check_timeout', async () => {
    const hanging = closing(await serveMisbehaving('hang', { methods: ['*'] }));
    const started = performance.now();
    const handling = { health_check_timeout: '200ms', health_check_interval: '1h' };
    const gateway = await gatewayTo({ a: hanging.url }, { operational: { failure_handling: handling } });
    // The default of 10 s and the 60 s of a call would end later.
    expect(performance.now() - started).toBeLessThan(8_000);
    expect(gateway.runtime.gateway.services.backends.get('a')?.health.phase).toBe('unavailable');
    expect(await messageOf(gateway)).toMatch(/time/);
  });

  it('makes a backend degraded by its first failure, and unavailable by unhealthy_threshold failures in a row', async () => {
    const outcomes = ['fails', 'fails', 'succeeds', 'fails', 'fails', 'fails'];
    const phases: string[] = [];
    let phase = (): string | undefined => undefined;
    let fails = false;
    const backend = closing(
      await servePlain({
        intercept: (_request, response, body) => {
          const now = phase();
          if (body.includes('"server/discover"') && now !== undefined) {
            phases.push(now);
            fails = outcomes.shift() === 'fails';
          }
          const isProbe = body.includes('"server/discover"') || body.includes('"initialize"');
          if (!fails || !isProbe) return false;
          behave('garbage')(response, {}, KNOBS);
          return true;
        },
      }),
    );
    const handling = { health_check_interval: '50ms', unhealthy_threshold: 3 };
    const gateway = await gatewayTo({ a: backend.url }, { operational: { failure_handling: handling } });
    phase = () => gateway.runtime.gateway.services.backends.get('a')?.health.phase;
    await until('eight checks', () => phases.length >= 8);
    const [ready, degraded] = ['ready', 'degraded'];
    expect(phases.slice(0, 8)).toEqual([ready, degraded, degraded, ready, degraded, degraded, 'unavailable', ready]);
  });
});

describe('a backend that refuses the newer revision', () => {
  it('gets a probe and a list in the older revisions that it names', async () => {
    const backend = closing(
      await servePlain({
        intercept: (_request, response, body) => {
          if (!body.includes('"server/discover"')) return false;
          const { id } = JSON.parse(body) as { id: unknown };
          const data = { requested: '2026-07-28', supported: ['2025-11-25', '2025-06-18'] };
          const error = { code: -32022, message: 'Unsupported protocol version', data };
          response.writeHead(400, { 'content-type': 'application/json' });
          response.end(JSON.stringify({ jsonrpc: '2.0', id, error }));
          return true;
        },
      }),
    );
    const gateway = await gatewayTo({ a: backend.url });
    const client = await SessionClient.open(gateway.url);
    expect((await client.toolNames()).length).toBeGreaterThan(0);
    const { capabilities, revisions } = gateway.runtime.gateway.services.backends.get('a')?.health ?? {};
    expect(capabilities).toMatchObject({ tools: true });
    expect(revisions).toEqual(['2025-11-25', '2025-06-18']);
  });
});

describe('a backend at a wrong URL', () => {
  it.each([
    [404, 'answers 404: check the path of its URL, which is /mcp at most servers'],
    [405, 'does not answer initialize as an MCP server: check its URL'],
  ])('gets a status about its answer %d, not about its revisions', async (status, message) => {
    const backend = closing(
      await servePlain({
        intercept: (_request, response) => {
          response.writeHead(status, { 'content-type': 'text/html' });
          response.end('<p>no</p>');
          return true;
        },
      }),
    );
    const gateway = await gatewayTo({ a: backend.url });
    await until(
      'it is looked at',
      () => gateway.runtime.gateway.services.backends.get('a')?.health.message === message,
    );
  });
});

describe('a connection to a backend', () => {
  it('fails after connect_timeout', async () => {
    const sockets = new Set<Socket>();
    // The server accepts the connection and never answers the TLS handshake.
    const server = createServer((socket) => void sockets.add(socket.on('error', () => undefined)));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    closing({
      close() {
        for (const socket of sockets) socket.destroy();
        server.close();
      },
    });
    const { port } = server.address() as AddressInfo;
    const started = performance.now();
    const gateway = await gatewayTo(
      { a: `https://127.0.0.1:${port}/mcp` },
      {
        limits: { connect_timeout: '300ms' },
        operational: { failure_handling: { health_check_timeout: '1m', health_check_interval: '1h' } },
      },
    );
    // Without connect_timeout, the probe would wait for its own minute.
    expect(performance.now() - started).toBeLessThan(20_000);
    expect(await messageOf(gateway)).toMatch(/cannot be reached/);
  });
});
