import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { createServer } from 'node:net';
import { request } from 'undici';
import { RuntimeStatus } from '#crds/run-config/runtime-status';
import { ConfigError } from '#runtime/errors';
import { createMetrics } from '#runtime/telemetry/metrics';
import { createPrivatePort, type PrivatePort, type PrivatePortDeps } from './private-port.ts';
import type { StatusSnapshot } from './status-snapshot.ts';

const snapshot: StatusSnapshot = {
  server: { namespace: 'default', name: 'demo', uid: 'u' },
  version: '0.1.0',
  config_digest: 'ab'.repeat(32),
  config_refused: null,
  ready: true,
  draining: false,
  warnings: ['anybody may call'],
  tools: 3,
  backends: [
    {
      name: 'a',
      phase: 'ready',
      breaker: 'closed',
      calls: { in_flight: 0, queued: 0, oldest_seconds: 0 },
      tools: 3,
      prompts: null,
      resources: 0,
      message: '',
      extensions: ['apps'],
      login_url: null,
      auth_type: 'tokenExchange',
      revisions: ['2025-11-25'],
      last_probe: null,
      last_transition_time: '2030-01-01T00:00:00.000Z',
    },
  ],
  sessions: 1,
  sessions_by_revision: { '2025-11-25': 1 },
  buffered: { bytes: 0, limit_bytes: 1, waiting: 0 },
  streams: 0,
  uptime_seconds: 12,
  secret_files: { '/s/token': 'cd'.repeat(32) },
};

let opened: PrivatePort[];
let logged: string[];
beforeEach(() => {
  [opened, logged] = [[], []];
});
afterEach(() => Promise.all(opened.map((port) => port.close(100))));

function deps(more: Partial<PrivatePortDeps> = {}): PrivatePortDeps {
  const write = (text: string, fields?: unknown) => logged.push(`${text} ${JSON.stringify(fields)}`);
  return {
    snapshot: () => snapshot,
    renderMetrics: () => createMetrics({ version: '1', namespace: 'n', server: 's' }).render(),
    readStatusTokens: () => undefined,
    log: { debug: write, info: write, warn: write, error: write },
    ...more,
  };
}

async function open(more: Partial<PrivatePortDeps> = {}) {
  const port = createPrivatePort(deps(more));
  opened.push(port);
  const bound = await port.listen('127.0.0.1', 0);
  return (path: string, init?: RequestInit) => fetch(`http://127.0.0.1:${bound}${path}`, init);
}

describe('private port', () => {
  it('answers liveness regardless of all other states', async () => {
    const get = await open({ snapshot: () => ({ ...snapshot, ready: false, draining: true }) });
    expect((await get('/healthz')).status).toBe(200);
  });

  it.each([
    [{ ready: true, draining: false }, 200, 'ready\n'],
    [{ ready: false, draining: false }, 503, 'starting\n'],
    [{ ready: true, draining: true }, 503, 'draining\n'],
  ])('answers readiness for %j with %d', async (state, status, text) => {
    const answer = await (await open({ snapshot: () => ({ ...snapshot, ...state }) }))('/readyz?verbose');
    expect([answer.status, await answer.text()]).toEqual([status, text]);
  });

  it('refuses a page whose name was rebound to this machine', async () => {
    const port = createPrivatePort(deps());
    opened.push(port);
    const bound = await port.listen('127.0.0.1', 0);
    const ask = async (host: string) => {
      const answer = await request(`http://127.0.0.1:${bound}/status`, { headers: { host } });
      return [answer.statusCode, (await answer.body.text()).includes('tools')];
    };
    for (const host of [`rebound.example:${bound}`, 'rebound.example', `127.0.0.1.rebound.example:${bound}`])
      expect(await ask(host)).toEqual([403, false]);
    for (const host of ['localhost', `LOCALHOST:${bound}`, `127.0.0.1:${bound}`, '[::1]:4484'])
      expect(await ask(host)).toEqual([200, true]);
  });

  it('accepts any host name if other machines reach it', async () => {
    const port = createPrivatePort(deps());
    opened.push(port);
    const bound = await port.listen('0.0.0.0', 0);
    const answer = await request(`http://127.0.0.1:${bound}/healthz`, { headers: { host: 'demo.team.svc:4484' } });
    expect([answer.statusCode, await answer.body.text()]).toEqual([200, 'ok\n']);
  });

  it('answers status in the form that the operator reads', async () => {
    const answer = await (await open())('/status');
    expect(answer.headers.get('content-type')).toBe('application/json');
    expect(answer.headers.get('cache-control')).toBe('no-store');
    const body = await answer.json();
    expect(body).toEqual({ ...snapshot, auth_server: null });
    expect(RuntimeStatus.parse(body)).toMatchObject({ config_digest: snapshot.config_digest, ready: true, tools: 3 });
  });

  it.each([
    [undefined, 401],
    ['Bearer wrong', 401],
    ['Basic new-token', 401],
    ['Bearer ', 401],
    ['Bearer new-token', 200],
    ['bearer old-token', 200],
  ])('answers Authorization %p with %d if a status token is set', async (authorization, status) => {
    const get = await open({ readStatusTokens: () => 'new-token\nold-token\n\n' });
    const answer = await get('/status', authorization === undefined ? {} : { headers: { authorization } });
    expect(answer.status).toBe(status);
    expect(answer.headers.get('www-authenticate')).toBe(status === 401 ? 'Bearer' : null);
    expect((await get('/readyz')).status).toBe(200);
    expect((await get('/metrics')).status).toBe(200);
  });

  it('serves metrics, or 404 if metrics are disabled', async () => {
    const answer = await (await open())('/metrics');
    expect(answer.headers.get('content-type')).toMatch(/^text\/plain; version=0\.0\.4/);
    expect(await answer.text()).toContain('vmcp_info');
    expect((await (await open({ renderMetrics: () => undefined }))('/metrics')).status).toBe(404);
  });

  it.each(['/', '/mcp', '/status/', '//status', '/STATUS', '/healthz/../status'.replace('/../', '%2f..%2f')])(
    'knows no %s',
    async (path) => expect((await (await open())(path)).status).toBe(404),
  );

  it('accepts GET and HEAD only', async () => {
    const get = await open();
    const head = await get('/status', { method: 'HEAD' });
    expect([head.status, await head.text()]).toEqual([200, '']);
    const post = await get('/status', { method: 'POST', body: 'x' });
    expect([post.status, post.headers.get('allow')]).toEqual([405, 'GET, HEAD']);
  });

  it('answers 500 without the reason after an error', async () => {
    const fail = () => {
      throw new Error('inner');
    };
    const answer = await (await open({ snapshot: fail }))('/status');
    expect([answer.status, await answer.text()]).toEqual([500, 'internal error\n']);
    expect(logged).toHaveLength(1);
  });

  it('names the port that it cannot bind', async () => {
    const other = createServer().listen(0, '127.0.0.1');
    await new Promise((resolve) => other.once('listening', resolve));
    const { port } = other.address() as { port: number };
    const mine = createPrivatePort({
      snapshot: () => snapshot,
      renderMetrics: () => undefined,
      readStatusTokens: () => undefined,
      log: { debug: String, info: String, warn: String, error: String },
    });
    const refused = mine.listen('127.0.0.1', port);
    await expect(refused).rejects.toThrow(`port ${port} of 127.0.0.1 cannot be had (EADDRINUSE)`);
    await expect(refused).rejects.toBeInstanceOf(ConfigError);
    other.close();
  });
});
