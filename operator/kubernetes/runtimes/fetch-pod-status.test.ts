import { afterEach, describe, expect, it } from '@jest/globals';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { NO_ANSWER } from '#operator/last-probe';
import { fetchPodStatus, type PodStatus } from './fetch-pod-status.ts';

const servers: Server[] = [];
afterEach(() => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections();
    server.close();
  }
});

interface Answer {
  body?: string;
  code?: number;
  headers?: Record<string, string>;
}

/** Starts a pod with this answer. Returns the requests that it received. */
async function pod({ body = '', code = 200, headers = {} }: Answer): Promise<{ port: number; asked: string[] }> {
  const asked: string[] = [];
  const server = createServer((req, res) => {
    asked.push(`${req.url ?? ''} ${req.headers.authorization ?? ''}`);
    res.writeHead(code, headers).end(body);
  });
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return { port: (server.address() as AddressInfo).port, asked };
}

async function ask(port: number): Promise<PodStatus | undefined> {
  const status = await fetchPodStatus('127.0.0.1', ['token'], port);
  if (status === NO_ANSWER) throw new Error('the pod does not answer');
  return status;
}
const backend = (name: string, more: object = {}) => ({ name, phase: 'ready', tools: 1, ...more });

describe('fetchPodStatus for a compromised pod', () => {
  it('limits the backends, warnings and characters of a status', async () => {
    const long = 'x'.repeat(5000);
    const { port } = await pod({
      body: JSON.stringify({
        backends: [
          backend('first', { message: long, login_url: `https://evil.example/${long}` }),
          ...Array.from({ length: 9000 }, (_, at) => backend(`b${at}`)),
        ],
        warnings: Array<string>(5000).fill(long.slice(0, 50)),
        config_refused: { message: 'no '.repeat(20_000) },
      }),
    });
    const status = (await ask(port))?.status;
    expect(status?.backends).toHaveLength(1000);
    expect(status?.warnings).toHaveLength(100);
    expect(status?.backends[0]).toMatchObject({ name: 'first', message: 'x'.repeat(4096), login_url: null });
    expect(status?.config_refused?.message).toHaveLength(16_384);
  });

  it('limits the files and keys of a status', async () => {
    const long = 'x'.repeat(5000);
    const keys = { kids: [long], signing: long, ephemeral: false };
    const many = (value: unknown) => Object.fromEntries(Array.from({ length: 9000 }, (_, at) => [`k${at}`, value]));
    const { port } = await pod({
      body: JSON.stringify({
        secret_files: many(''),
        auth_server: {
          ...{ storage: 'memory', signing_keys: keys, secrets: { ...keys, making: long }, unacknowledged: 0 },
          ...{ secrets_in_use: many(1), redirect_uris: many('x') },
        },
      }),
    });
    const said = await ask(port);
    expect(said?.status.auth_server).toMatchObject({ secrets: { kids: ['x'.repeat(2048)], making: 'x'.repeat(2048) } });
    const { secrets_in_use: used, redirect_uris: uris } = said?.status.auth_server ?? {};
    expect([said?.secretFiles, used, uris].map((one) => Object.keys(one ?? {}).length)).toEqual([4000, 100, 100]);
  });

  it('rejects a status of more than a megabyte', async () => {
    const { port, asked } = await pod({ body: JSON.stringify({ ready: true, more: 'x'.repeat(1024 * 1024) }) });
    expect(await ask(port)).toBeUndefined();
    expect(asked).toEqual(['/status Bearer token']);
  });

  it('follows no redirect', async () => {
    const elsewhere = await pod({ body: '{}' });
    const location = `http://127.0.0.1:${elsewhere.port}/status`;
    const { port } = await pod({ code: 307, headers: { location } });
    expect(await ask(port)).toBeUndefined();
    expect(elsewhere.asked).toEqual([]);
  });

  it.each([
    ['is no JSON', 'ready'],
    ['is nested a hundred thousand levels deep', '['.repeat(100_000)],
    ['is of another shape', '{"backends":[{"name":1}]}'],
  ])('ignores a status that %s', async (_, body) => {
    const { port } = await pod({ body });
    expect(await ask(port)).toBeUndefined();
  });
});

it('fetchPodStatus retries with the previous token after a 401, and not after another refusal', async () => {
  const asked: string[] = [];
  let refusal = 401;
  const server = createServer(({ headers }, res) => {
    asked.push(headers.authorization ?? '');
    res.writeHead(headers.authorization === 'Bearer newest' ? refusal : 200).end('{"ready":true}');
  });
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const ofBoth = () => fetchPodStatus('127.0.0.1', ['newest', 'before'], port);
  expect(await ofBoth()).toMatchObject({ status: { ready: true } });
  refusal = 403;
  expect(await ofBoth()).toBeUndefined();
  expect(asked).toEqual(['Bearer newest', 'Bearer before', 'Bearer newest']);
});

it('fetchPodStatus distinguishes a silent pod from a closed port', async () => {
  const server = createServer(() => undefined);
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  expect(await fetchPodStatus('127.0.0.1', ['token'], port)).toBe(NO_ANSWER);
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
  expect(await fetchPodStatus('127.0.0.1', ['token'], port)).toBeUndefined();
});
