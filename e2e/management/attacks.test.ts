import { readdirSync, statSync } from 'node:fs';
import { type IncomingMessage, request } from 'node:http';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { findFreePort } from '../gateway/find-free-port.ts';
import { server, whoami } from '../local/manifests.ts';
import { eventually } from '../local/run-vmcp.ts';
import { NO_PATHS, OUTSIDE, requestsWith } from './leading-outside.ts';
import { type RunningApi, useApi } from './use-api.ts';

let api: RunningApi;
beforeAll(async () => {
  api = await useApi({
    'server.yaml': server('demo', await findFreePort()),
    'whoami.yaml': whoami('whoami', 'demo', await findFreePort()),
  });
});
afterAll(() => api.close());

const port = () => Number(new URL(api.url).port);

async function open(): Promise<Socket> {
  const socket = connect(port(), '127.0.0.1');
  await new Promise((resolve, reject) => void socket.once('connect', resolve).once('error', reject));
  socket.on('error', () => undefined);
  return socket;
}

/** Sends raw bytes. Returns all text until the server closes the connection. */
async function send(bytes: string): Promise<string> {
  const socket = await open();
  socket.write(bytes, 'latin1');
  return text(socket);
}

const head = (line: string, ...headers: string[]) =>
  [line, `Host: 127.0.0.1:${port()}`, `Authorization: Bearer ${api.token}`, ...headers, '', ''].join('\r\n');
const statuses = (said: string) => [...said.matchAll(/^HTTP\/1\.1 (\d+)/gm)].map(([, status]) => Number(status));
const SMUGGLED = 'DELETE /api/v1beta/clients/cursor HTTP/1.1\r\n';

const OWN = /\/(logs|run|generated)\/|\/(status|children|allotments)\.json$|\/sessions\.sqlite/;

/** Returns the files below a folder with their modification times, without those that the server writes all the time. */
function filesBelow(folder: string): Map<string, number> {
  const all = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  const paths = all.map(({ parentPath, name }) => join(parentPath, name)).filter((path) => !OWN.test(path));
  return new Map(paths.map((path) => [path, statSync(path).mtimeMs]));
}

/** Returns status and text of an answer. Sends the path unchanged, which a browser would shorten. */
async function asWritten(method: string, path: string, body?: unknown): Promise<[number, string]> {
  const asking = request({
    host: '127.0.0.1',
    port: port(),
    method,
    path: `/api/v1beta${path}`,
    headers: {
      authorization: `Bearer ${api.token}`,
      ...(body !== undefined && { 'content-type': 'application/json' }),
    },
    signal: AbortSignal.timeout(60_000),
  });
  const answer = await new Promise<IncomingMessage>((resolve, reject) => {
    asking.once('response', resolve).once('error', reject);
    asking.end(body === undefined ? undefined : JSON.stringify(body));
  });
  return [answer.statusCode ?? 0, await text(answer)];
}

describe('a name that leads out of its folder', () => {
  it.each(OUTSIDE)('gets a refusal, and neither reads nor writes a file: %j', async (name) => {
    const before = filesBelow(api.place.path);
    for (const [method, path, body] of requestsWith(name)) {
      const [status, said] = await asWritten(method, path, body);
      expect([method, path, [400, 404, 405].includes(status)]).toEqual([method, path, true]);
      expect([said.includes('root:'), said.includes(api.token)]).toEqual([false, false]);
    }
    expect(filesBelow(api.place.path)).toEqual(before);
  });

  it('reaches no other path of the server', async () => {
    for (const path of NO_PATHS)
      expect([path, statuses(await send(head(`GET ${path} HTTP/1.1`, 'Connection: close')))]).toEqual([path, [404]]);
    const elsewhere = `GET http://evil.example/api/v1beta/version HTTP/1.1`;
    expect(statuses(await send(head(elsewhere, 'Connection: close')))).toEqual([400]);
  });
});

describe('a request inside another one', () => {
  const body = `${SMUGGLED}X: y\r\n\r\n`;
  it.each<[string, string[], string]>([
    ['with two lengths', ['Content-Length: 0', `Content-Length: ${body.length}`], body],
    ['with a length and chunks', ['Content-Length: 5', 'Transfer-Encoding: chunked'], `0\r\n\r\n${body}`],
    ['with a coding that hides chunks', ['Transfer-Encoding: chunked, identity'], `0\r\n\r\n${body}`],
    ['with a coding by another name', ['Transfer-Encoding: xchunked'], `0\r\n\r\n${body}`],
    ['with a space before the colon', ['Transfer-Encoding : chunked', 'Content-Length: 5'], `0\r\n\r\n${body}`],
    ['with a folded header', ['Transfer-Encoding:', '\tchunked'], `0\r\n\r\n${body}`],
    ['with a length that is none', ['Content-Length: +5'], body],
    ['with a line feed in a header', ['X: a\nTransfer-Encoding: chunked'], `0\r\n\r\n${body}`],
    [
      'with a chunk of a wrong length',
      ['Transfer-Encoding: chunked', 'Content-Type: application/json'],
      `0x5\r\n{}\r\n0\r\n\r\n${body}`,
    ],
    ['with a NUL in a header', ['X: a\0b'], body],
  ])('%s ends in one refusal, and the connection ends', async (_what, headers, sent) => {
    const said = await send(head('POST /api/v1beta/clients HTTP/1.1', ...headers) + sent);
    expect(statuses(said).length).toBeLessThanOrEqual(1);
    expect(statuses(said).every((status) => status >= 400)).toBe(true);
    expect(statuses(said)).not.toContain(204);
  });

  it('gets the same problem form as other refusals', async () => {
    const said = await send(`GET /api/v1beta/version HTTP/1.1\r\nHost: x\r\nX-Long: ${'x'.repeat(70_000)}\r\n\r\n`);
    expect(statuses(said)).toEqual([431]);
    expect(said).toMatch(/content-type: application\/problem\+json/i);
    expect(JSON.parse(said.slice(said.indexOf('{')))).toMatchObject({ status: 431, code: 'headers_too_large' });
    const nonsense = await send('nonsense\r\n\r\n');
    expect(JSON.parse(nonsense.slice(nonsense.indexOf('{')))).toMatchObject({ status: 400, code: 'bad_request' });
  });

  it('gets the same problem form on a kept connection after a whole answer', async () => {
    const socket = await open();
    const told = text(socket);
    socket.write(head('GET /api/v1beta/version HTTP/1.1'));
    await eventually(
      () => socket.bytesRead,
      (bytes) => bytes > 0,
    );
    socket.write(`GET / HTTP/1.1\r\nX-Long: ${'x'.repeat(70_000)}\r\n\r\n`);
    // The first answer does not end with a line break.
    expect([...(await told).matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => status)).toEqual(['200', '431']);
  });

  it('with two hosts, tokens or origins gets a refusal', async () => {
    const twice = async (...headers: string[]) =>
      statuses(await send(['GET /api/v1beta/version HTTP/1.1', ...headers, 'Connection: close', '', ''].join('\r\n')));
    const [host, token] = [`Host: 127.0.0.1:${port()}`, `Authorization: Bearer ${api.token}`];
    expect(await twice(host, token)).toEqual([200]);
    expect(await twice(host, 'Authorization: Bearer x', token)).toEqual([400]);
    expect(await twice('Host: evil.example', host, token)).toEqual([400]);
    expect(await twice(host, 'Host: evil.example', token)).toEqual([400]);
    expect(await twice(host, token, `Origin: http://127.0.0.1:${port()}`, 'Origin: https://evil.example')).toEqual([
      400,
    ]);
    expect(await twice(host, token, 'X-Forwarded-Host: evil.example', 'X-HTTP-Method-Override: DELETE')).toEqual([200]);
  });
});

describe('a slow caller', () => {
  it('with its headers or its body gets 408 in bounded time, and delays no other caller', async () => {
    const startedAt = performance.now();
    const slowly = async (first: string): Promise<[number[], number]> => {
      const socket = await open();
      const answer = text(socket);
      socket.write(first);
      const drops = setInterval(() => socket.write('x'), 1000);
      const said = await answer;
      clearInterval(drops);
      return [statuses(said), (performance.now() - startedAt) / 1000];
    };
    const request = head('POST /api/v1beta/clients HTTP/1.1', 'Content-Type: application/json', 'Content-Length: 1000');
    const slow = [slowly('GET /api/v1beta/version HTTP/1.1\r\nX: '), slowly(request)];
    expect((await api.call('GET', '/version')).status).toBe(200);
    const [headers, body] = await Promise.all(slow);
    expect(headers?.[0]).toEqual([408]);
    expect(body?.[0]).toEqual([408]);
    // The limits are 10 and 30 s, so that callers with a slow network can finish.
    expect(headers?.[1]).toBeGreaterThan(8);
    expect(body?.[1]).toBeGreaterThan(25);
  }, 90_000);

  it('opens only a bounded number of connections', async () => {
    const sockets = await Promise.all(Array.from({ length: 400 }, open));
    const isOpen = (socket: Socket) => !socket.destroyed && !socket.readableEnded;
    for (const socket of sockets) socket.resume();
    await eventually(
      () => sockets.filter(isOpen).length,
      (count) => count <= 256,
      8_000,
    );
    for (const socket of sockets) socket.destroy();
    await eventually(
      () =>
        api.call('GET', '/version').then(
          ({ status }) => status,
          () => 0,
        ),
      (status) => status === 200,
    );
  });
});
