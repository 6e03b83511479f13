import { request, ServerResponse } from 'node:http';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { z } from 'zod';
import { renderOpenApi } from './document/render-openapi.ts';
import { NoBody, NoParams, NoQuery, Nothing, operation } from './operation.ts';
import { aboutOperations } from './operations/about.ts';
import { isExpected } from './if-match.ts';
import { Problem } from './problem.ts';
import { servicesWith } from './testdata/services-with.ts';
import { serveOperations, type ServedOperations, TOKEN } from './testdata/serve-operations.ts';

const base = { params: NoParams, query: NoQuery, body: NoBody, problems: {}, permissions: () => [], summary: '' };
const Thing = z.strictObject({ name: z.string(), size: z.int().optional() });
const Name = z.strictObject({ name: z.string().max(20) });
let ended = false;

async function* lines(signal: AbortSignal) {
  try {
    for (let at = 0; !signal.aborted; at += 1) {
      yield `line ${at}\n`;
      await sleep(5, undefined, { signal });
    }
  } finally {
    ended = true;
  }
}

/** Called when the generator has yielded its last line. */
let afterLongLines = (): void => undefined;

async function* longLines() {
  for (let at = 0; at < 200; at += 1) yield await Promise.resolve(`${'x'.repeat(100_000)}\n`);
  afterLongLines();
}

const operations = [
  ...aboutOperations,
  operation({
    ...base,
    id: 'getThing',
    method: 'GET',
    path: '/things/{name}',
    params: Name,
    givesTag: true,
    success: 200,
    result: Thing,
    run: ({ params }) => {
      if (params.name === 'broken') throw new Error('the password is hunter2');
      if (params.name === 'slow') return new Promise(() => undefined);
      return Promise.resolve({ body: params, etag: 'v1' });
    },
  }),
  operation({
    ...base,
    id: 'editThing',
    method: 'POST',
    path: '/things/{name}',
    params: Name,
    body: Thing,
    takesTag: true,
    audit: 'management_thing_edited',
    success: 200,
    result: Thing,
    run: ({ body, ifMatch }) => {
      if (!isExpected('v1', ifMatch)) throw new Problem('stale', 'it is another by now');
      return Promise.resolve({ body });
    },
  }),
  operation({
    ...base,
    id: 'deleteThings',
    method: 'POST',
    path: '/things/delete',
    body: z.strictObject({ names: z.array(z.string()) }),
    success: 202,
    result: z.strictObject({ accepted: z.array(z.string()) }),
    run: ({ body }) => Promise.resolve({ body: { accepted: body.names } }),
  }),
  operation({
    ...base,
    id: 'followThing',
    method: 'GET',
    path: '/things/{name}/logs',
    params: Name,
    media: 'text/plain; charset=utf-8',
    success: 200,
    result: Nothing,
    run: ({ params, signal }) =>
      Promise.resolve({ body: undefined, lines: params.name === 'long' ? longLines() : lines(signal) }),
  }),
];

let served: ServedOperations;
beforeAll(async () => {
  served = await serveOperations(operations, {
    services: servicesWith({ version: '1.2.3', openApi: renderOpenApi(operations, '1.2.3') }),
    deadline: 300,
    burst: 200,
  });
});
afterAll(() => served.close());
beforeEach(() => {
  served.clock.now += 1_000_000;
  served.changes.length = 0;
  served.failures.length = 0;
});

type Init = Omit<RequestInit, 'headers'> & { headers?: Record<string, string> };
const call = (path: string, { headers, ...init }: Init = {}) =>
  fetch(served.url + path, { ...init, headers: { authorization: `Bearer ${TOKEN}`, ...headers } });
const post = (path: string, body: unknown, headers: Record<string, string> = {}) =>
  call(path, {
    method: 'POST',
    body: typeof body === 'string' ? body : JSON.stringify(body),
    headers: { 'content-type': 'application/json', ...headers },
  });

async function problemOf(answer: Response): Promise<{ status: number; code: string; detail: string }> {
  expect(answer.headers.get('content-type')).toMatch(/^application\/problem\+json/);
  const body = z
    .strictObject({ type: z.string(), title: z.string(), status: z.int(), detail: z.string(), code: z.string() })
    .parse(await answer.json());
  expect(body.status).toBe(answer.status);
  expect(body.type).toBe(`urn:vmcp:problem:${body.code}`);
  return { status: body.status, code: body.code, detail: body.detail };
}

/** Sends a request with http.request, as fetch sets Host and other headers itself. */
function raw(path: string, headers: Record<string, string>): Promise<number> {
  return new Promise((resolve, reject) => {
    const asked = request(
      served.url + path,
      { headers: { authorization: `Bearer ${TOKEN}`, ...headers } },
      (answer) => {
        answer.resume();
        resolve(answer.statusCode ?? 0);
      },
    );
    asked.on('error', reject).end();
  });
}

describe('createRoutes', () => {
  it('answers JSON with the version as entity tag and forbids caching', async () => {
    const answer = await call('/things/cup');
    expect(answer.status).toBe(200);
    expect(await answer.json()).toEqual({ name: 'cup' });
    expect(answer.headers.get('etag')).toBe('"v1"');
    expect(answer.headers.get('cache-control')).toBe('no-store');
  });

  it('rejects a missing or another token, also at unknown paths', async () => {
    for (const authorization of ['', 'Bearer x', `bearer ${TOKEN}`, `Basic ${TOKEN}`, `Bearer ${TOKEN} `.repeat(2)])
      for (const path of ['/version', '/openapi.json', '/things/cup', '/nowhere']) {
        const answer = await call(path, { headers: { authorization, 'if-match': 'no tag' } });
        expect(answer.headers.get('www-authenticate')).toBe('Bearer realm="vmcp-management"');
        expect(await problemOf(answer)).toMatchObject({ status: 401, code: 'unauthenticated' });
      }
  });

  it('reports no other error of a request without a valid token', async () => {
    const headers = { authorization: 'Bearer x', 'if-match': 'v1' };
    for (const body of ['{"name":"cup"}', '{', 'x'.repeat(5 * 1024 * 1024)])
      expect((await post('/things/cup?colour=red', body, headers)).status).toBe(401);
  });

  it('rejects another host name, as after DNS rebinding', async () => {
    expect(await raw('/version', { host: `127.0.0.1:${served.port}` })).toBe(200);
    expect(await raw('/version', { host: `LOCALHOST:${served.port}` })).toBe(200);
    for (const host of ['evil.example', `evil.example:${served.port}`, '127.0.0.1', `127.0.0.1.:${served.port}`])
      expect(await raw('/version', { host })).toBe(403);
    const socket = connect(served.port, '127.0.0.1').end('GET /api/v1beta/version HTTP/1.0\r\n\r\n');
    expect((await text(socket)).split('\r\n')[0]).toBe('HTTP/1.1 403 Forbidden');
  });

  it('rejects requests from pages of other sites', async () => {
    expect(await raw('/version', { origin: `http://127.0.0.1:${served.port}` })).toBe(200);
    for (const origin of ['null', 'https://evil.example', 'http://127.0.0.1:1', `https://127.0.0.1:${served.port}`])
      expect(await raw('/version', { origin })).toBe(403);
    for (const site of ['cross-site', 'same-site']) expect(await raw('/version', { 'sec-fetch-site': site })).toBe(403);
  });

  it('answers 404 for an unknown path, however it is written', async () => {
    for (const path of ['/nowhere', '/things/cup/', '/Things/cup', '//version', '/things/a/b/c'])
      expect(await problemOf(await call(path))).toMatchObject({ status: 404, code: 'not_found' });
    const beside = await fetch(served.url.replace('v1beta', 'v1'), { headers: { authorization: `Bearer ${TOKEN}` } });
    expect(beside.status).toBe(404);
  });

  it('lists the allowed methods in a 405 answer', async () => {
    for (const method of ['DELETE', 'PUT', 'PATCH', 'OPTIONS']) {
      const answer = await call('/things/cup', { method });
      expect(answer.headers.get('allow')).toBe('GET, POST');
      expect(await problemOf(answer)).toMatchObject({ status: 405, code: 'method_not_allowed' });
    }
  });

  it('lists only the methods of a literal path in a 405 answer', async () => {
    const answer = await call('/things/delete', { method: 'PUT' });
    expect([answer.status, answer.headers.get('allow')]).toEqual([405, 'POST']);
  });

  it('prefers a literal path to a path with a parameter', async () => {
    expect((await post('/things/delete', { names: ['a'] })).status).toBe(202);
    expect(await (await call('/things/delete')).json()).toEqual({ name: 'delete' });
  });

  it('decodes percent-encoded path parameters and rejects invalid encoding', async () => {
    expect(await (await call('/things/a%2Fb%3F')).json()).toEqual({ name: 'a/b?' });
    expect(await problemOf(await call('/things/%ff'))).toMatchObject({ status: 400, code: 'bad_request' });
  });

  it('rejects an unknown query parameter, an unknown field and an invalid header by name', async () => {
    expect(await problemOf(await call('/things/cup?colour=red'))).toMatchObject({
      status: 400,
      detail: 'query colour: unknown field `colour`; remove it',
    });
    expect(await problemOf(await call(`/things/${'x'.repeat(21)}`))).toMatchObject({
      status: 400,
      code: 'bad_request',
    });
    expect(await problemOf(await post('/things/cup', { name: 'cup', sise: 1 }))).toMatchObject({
      detail: 'body sise: unknown field `sise`; did you mean `size`?',
    });
    expect(await problemOf(await post('/things/cup', undefined as unknown as string))).toMatchObject({ status: 400 });
    expect(await problemOf(await call('/things/cup?namespace=../x'))).toMatchObject({ status: 400 });
    expect((await call('/things/cup?namespace=team-a')).status).toBe(200);
    for (const tag of ['v1', 'w/"v1"', '"v1" "v2"', '"v1", *', '*, "v1"', '"v1', 'W/', ',', ''])
      expect(await problemOf(await post('/things/cup', { name: 'cup' }, { 'if-match': tag }))).toMatchObject({
        status: 400,
      });
  });

  it('changes a resource only if its version matches If-Match', async () => {
    for (const tag of ['"v1"', '*', '"v0", "v1"', '"v1",W/"v0"', ', "v1" ,', '"a,b","v1"'])
      expect((await post('/things/cup', { name: 'cup' }, { 'if-match': tag })).status).toBe(200);
    // A weak tag never matches in a strong comparison: RFC 9110 §8.8.3.2.
    for (const tag of ['"v0"', 'W/"v1"', '"v0", W/"v1"', '"v0","v2"', '"v0,v1"', '""', '"v\u00e9"'])
      expect(await problemOf(await post('/things/cup', { name: 'cup' }, { 'if-match': tag }))).toMatchObject({
        status: 412,
        code: 'stale',
      });
  });
});

describe('createRoutes with a body', () => {
  it('rejects a media type other than JSON, and text that is not JSON', async () => {
    for (const type of [
      'text/plain',
      'application/x-www-form-urlencoded',
      'multipart/form-data; boundary=x',
      'application/json+x',
      '',
    ])
      expect(await problemOf(await post('/things/cup', '{"name":"cup"}', { 'content-type': type }))).toMatchObject({
        status: 415,
        code: 'unsupported_media_type',
      });
    const type = { 'content-type': 'application/json; charset=utf-8' };
    expect((await post('/things/cup', '{"name":"cup"}', type)).status).toBe(200);
    for (const sent of ['{', '{"name":"cup"}}', 'undefined'])
      expect(await problemOf(await post('/things/cup', sent))).toMatchObject({ status: 400, code: 'bad_request' });
  });

  it('rejects a body longer than 4 MiB, with or without Content-Length', async () => {
    const long = JSON.stringify({ name: 'x'.repeat(4 * 1024 * 1024) });
    expect(await problemOf(await post('/things/cup', long))).toMatchObject({ status: 413, code: 'too_large' });
    const chunked = await call('/things/cup', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: new Blob([long]).stream(),
      duplex: 'half',
    });
    expect(await problemOf(chunked)).toMatchObject({ status: 413 });
  });

  it('rejects a field named __proto__ at any depth', async () => {
    for (const sent of ['{"__proto__": {"name": "a"}, "name": "a"}', '{"name": "a", "more": [{"__proto__": 1}]}']) {
      const detail = 'body: no field may be called __proto__';
      expect(await problemOf(await post('/things/cup', sent))).toEqual({ status: 400, code: 'bad_request', detail });
    }
  });

  it('rejects a compressed body', async () => {
    const answer = await call('/things/cup', {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'content-encoding': 'gzip' },
      body: gzipSync('{"name":"cup"}'),
    });
    expect(await problemOf(answer)).toMatchObject({ status: 415 });
  });

  it('rejects deep nesting cheaply', async () => {
    const deep = `{"name":${'['.repeat(1_000_000)}${']'.repeat(1_000_000)}}`;
    expect(await problemOf(await post('/things/cup', deep))).toMatchObject({ status: 400, code: 'bad_request' });
  });

  it('does not read the body of a caller without a token', async () => {
    const answer = await post('/things/cup', 'x'.repeat(5 * 1024 * 1024), { authorization: 'Bearer other' });
    expect(answer.status).toBe(401);
  });

  it('rejects a body for an operation that takes none', async () => {
    const answer = await new Promise<number>((resolve, reject) => {
      const headers = { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json', 'content-length': '2' };
      const asked = request(`${served.url}/things/cup`, { headers }, (got) => {
        got.resume();
        resolve(got.statusCode ?? 0);
      });
      asked.on('error', reject).end('{}');
    });
    expect(answer).toBe(400);
  });
});

describe('createRoutes with an operation', () => {
  it('logs the cause of an internal error and hides it from the caller', async () => {
    const answer = await call('/things/broken');
    const said = await answer.clone().text();
    expect(await problemOf(answer)).toMatchObject({ status: 500, code: 'internal' });
    expect(said).not.toContain('hunter2');
    expect(served.failures.map(({ cause }) => (cause as Error).message)).toEqual(['the password is hunter2']);
  });

  it('answers 503 when an operation exceeds the deadline', async () => {
    expect(await problemOf(await call('/things/slow'))).toMatchObject({ status: 503, code: 'unavailable' });
  });

  it('reports each change with user, parameters and outcome, without the body', async () => {
    await post('/things/cup', { name: 'hunter2' });
    await post('/things/cup', { name: 'hunter2' }, { 'if-match': '"v0"' });
    await post('/things/cup', { name: 'hunter2' }, { authorization: 'Bearer x' });
    await call('/things/cup');
    expect(
      served.changes.map(({ type, outcome, user, code, params }) => ({ type, outcome, user, code, params })),
    ).toEqual([
      { type: 'management_thing_edited', outcome: 'success', user: 'local', code: undefined, params: { name: 'cup' } },
      { type: 'management_thing_edited', outcome: 'failure', user: 'local', code: 'stale', params: { name: 'cup' } },
      {
        type: 'management_thing_edited',
        outcome: 'denied',
        user: undefined,
        code: 'unauthenticated',
        params: { name: 'cup' },
      },
    ]);
    expect(JSON.stringify(served.changes)).not.toContain('hunter2');
  });

  it('streams lines beyond the deadline and stops when the client disconnects', async () => {
    const leave = new AbortController();
    const answer = await call('/things/cup/logs', { signal: leave.signal });
    expect(answer.headers.get('content-type')).toBe('text/plain; charset=utf-8');
    let read = '';
    const since = performance.now();
    await expect(
      (async () => {
        for await (const part of answer.body ?? []) {
          read += Buffer.from(part as Uint8Array).toString();
          if (performance.now() - since > 400) leave.abort();
        }
      })(),
    ).rejects.toThrow('aborted');
    expect(read).toMatch(/^line 0\nline 1\nline 2\n/);
    for (let tries = 0; !ended && tries < 12_000; tries += 1) await sleep(5);
    expect(ended).toBe(true);
  });
});

describe('createRoutes with lines larger than the socket buffer', () => {
  it('writes all lines and leaves no listener behind', async () => {
    let listening: number | undefined;
    const heads = jest.spyOn(ServerResponse.prototype, 'flushHeaders');
    afterLongLines = () => {
      const response: unknown = heads.mock.contexts[0];
      listening = response instanceof ServerResponse ? response.listenerCount('close') : undefined;
    };
    const answer = await call('/things/long/logs');
    expect((await answer.text()).length).toBe(200 * 100_001);
    heads.mockRestore();
    expect(listening).toBeLessThan(10);
  });
});

describe('createRoutes with one caller', () => {
  it('limits a caller to twenty logs and still answers its other requests', async () => {
    const leave = Array.from({ length: 20 }, () => new AbortController());
    const answers = await Promise.all(leave.map(({ signal }) => call('/things/cup/logs', { signal })));
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200));
    const refused = await call('/things/cup/logs');
    expect(refused.headers.get('retry-after')).toBe('5');
    expect(await problemOf(refused)).toMatchObject({ status: 429, code: 'too_many_requests' });
    expect((await call('/things/cup')).status).toBe(200);
    leave[0]?.abort();
    let status = 429;
    for (let tries = 0; status === 429 && tries < 1000; tries += 1) {
      served.clock.now += 1000;
      const another = new AbortController();
      status = (await call('/things/cup/logs', { signal: another.signal })).status;
      another.abort();
      await sleep(5);
    }
    expect(status).toBe(200);
    for (const one of leave) one.abort();
  });

  it('answers 429 with Retry-After above the rate limit, and accepts requests after that time', async () => {
    const statuses = await Promise.all(Array.from({ length: 220 }, async () => (await call('/version')).status));
    expect(statuses.filter((status) => status === 200)).toHaveLength(200);
    const answer = await call('/version');
    expect(answer.headers.get('retry-after')).toBe('1');
    expect(await problemOf(answer)).toMatchObject({ status: 429, code: 'too_many_requests' });
    served.clock.now += 1000;
    expect((await call('/version')).status).toBe(200);
    expect((await call('/version')).status).toBe(429);
  });
});
