import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { z } from 'zod';
import { NoBody, NoParams, NoQuery, Nothing, operation } from '#management/operation';
import { Problem, type ProblemCode, PROBLEMS } from '#management/problem';
import { servicesWith } from '#management/testdata/services-with';
import { type ServedOperations, serveOperations, TOKEN } from '#management/testdata/serve-operations';
import { httpApi } from './http-api.ts';
import { inProcessApi } from './in-process-api.ts';
import type { ManagementApi } from './management-api.ts';
import { Refusal } from './refusal.ts';

const base = { query: NoQuery, body: NoBody, problems: {}, summary: '', permissions: () => [] };
const Name = z.strictObject({ name: z.string() });

const getThing = operation({
  ...base,
  id: 'getThing',
  method: 'GET',
  path: '/things/{name}',
  params: Name,
  query: z.strictObject({ all: z.stringbool().default(false), limit: z.coerce.number().optional() }),
  success: 200,
  result: z.strictObject({ name: z.string(), all: z.boolean(), limit: z.int().optional() }),
  givesTag: true,
  run: ({ params, query }) => Promise.resolve({ body: { ...params, ...query }, etag: `version-of-${params.name}` }),
});
const editThing = operation({
  ...base,
  id: 'editThing',
  method: 'POST',
  path: '/things/{name}/edit',
  params: Name,
  body: z.strictObject({ size: z.int() }),
  success: 200,
  result: z.strictObject({ size: z.int(), ifMatch: z.array(z.string()).readonly().optional() }),
  takesTag: true,
  run: ({ body, ifMatch }) => Promise.resolve({ body: { ...body, ...(ifMatch !== undefined && { ifMatch }) } }),
});
const dropThing = operation({
  ...base,
  id: 'dropThing',
  method: 'DELETE',
  path: '/things/{name}',
  params: Name,
  success: 204,
  result: Nothing,
  run: () => Promise.resolve({ body: undefined }),
});
const refuse = operation({
  ...base,
  id: 'refuse',
  method: 'GET',
  path: '/refusals/{code}',
  params: z.strictObject({ code: z.enum(Object.keys(PROBLEMS) as [ProblemCode, ...ProblemCode[]]) }),
  success: 200,
  result: Nothing,
  run: ({ params: { code } }) => Promise.reject(new Problem(code, `refused as ${code}`)),
});
const readLines = operation({
  ...base,
  id: 'readLines',
  method: 'GET',
  path: '/lines',
  params: NoParams,
  media: 'text/plain; charset=utf-8',
  success: 200,
  result: Nothing,
  run: ({ signal }) => Promise.resolve({ body: undefined, lines: linesUntil(signal) }),
});
const otherShape = operation({
  ...base,
  id: 'otherShape',
  method: 'GET',
  path: '/other',
  params: NoParams,
  success: 200,
  result: z.looseObject({}),
  run: () => Promise.resolve({ body: { newer: true } }),
});

async function* linesUntil(signal: AbortSignal): AsyncGenerator<string> {
  yield 'first €\n';
  yield 'second\n';
  await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
}

const services = servicesWith({});
let served: ServedOperations;
beforeAll(async () => {
  served = await serveOperations([getThing, editThing, dropThing, refuse, readLines, otherShape], { services });
});
afterAll(() => served.close());

const overHttp = (stop: AbortSignal): ManagementApi =>
  httpApi({
    address: `http://127.0.0.1:${served.port}`,
    token: TOKEN,
    namespace: undefined,
    place: 'here',
    stop,
  });
const inProcess = (stop: AbortSignal): ManagementApi =>
  inProcessApi({
    services,
    place: 'here',
    running: false,
    onFailure: () => undefined,
    close: () => Promise.resolve(),
    stop,
  });

describe.each([
  ['over HTTP', overHttp],
  ['in this process', inProcess],
])('an operation called %s', (_, open) => {
  const api = () => open(new AbortController().signal);

  it('passes path, query, body and version, and returns the declared result', async () => {
    const name = 'a/b c?ü';
    const { body, etag } = await api().call(getThing, { params: { name }, query: { all: 'true', limit: 3 } });
    expect(body).toEqual({ name, all: true, limit: 3 });
    if (etag?.includes('ü') !== true) expect(etag).toBeDefined();
    const edited = await api().call(editThing, { params: { name: 'a' }, body: { size: 2 }, ifMatch: 'v1' });
    expect(edited.body).toEqual({ size: 2, ifMatch: ['v1'] });
    expect((await api().call(dropThing, { params: { name: 'a' } })).body).toBeUndefined();
  });

  it('returns the version of the answer', async () => {
    expect((await api().call(getThing, { params: { name: 'cup' } })).etag).toBe('version-of-cup');
  });

  it.each([
    ['bad_request', 1],
    ['inline_secret', 1],
    ['method_not_allowed', 1],
    ['too_large', 1],
    ['unauthenticated', 8],
    ['forbidden', 8],
    ['not_found', 6],
    ['already_exists', 7],
    ['conflict', 7],
    ['stale', 7],
    ['internal', 5],
    ['upstream_failed', 5],
    ['unavailable', 5],
    ['upstream_timeout', 5],
  ] as const)('rejects with the refusal %s of the API and exit code %d', async (code, exitCode) => {
    const refused: unknown = await api()
      .call(refuse, { params: { code } })
      .catch((problem: unknown) => problem);
    expect(refused).toBeInstanceOf(Refusal);
    expect(refused).toMatchObject({ code, exitCode, message: `refused as ${code}` });
  });

  it('reports which field is invalid', async () => {
    const body = { size: 1.5 };
    await expect(api().call(editThing, { params: { name: 'a' }, body })).rejects.toMatchObject({
      exitCode: 1,
      message: expect.stringContaining('size'),
    });
  });

  it('yields lines as they arrive, until it is stopped', async () => {
    const stop = new AbortController();
    const reading = open(stop.signal).read(readLines);
    let text = '';
    for await (const piece of reading) {
      text += piece;
      if (text.endsWith('second\n')) break;
    }
    stop.abort();
    expect(text).toBe('first €\nsecond\n');
  });

  it('leaves no timer after a refused stream, so that the command ends', async () => {
    const timers = () => process.getActiveResourcesInfo().filter((kind) => kind === 'Timeout').length;
    const read = () =>
      api()
        .read(refuse, { params: { code: 'not_found' } })
        [Symbol.asyncIterator]()
        .next();
    await expect(read()).rejects.toMatchObject({ code: 'not_found' });
    const before = timers();
    await expect(read()).rejects.toMatchObject({ code: 'not_found' });
    expect(timers()).toBe(before);
  });

  it('reports an answer of another version', async () => {
    const here = { ...otherShape, result: z.strictObject({ older: z.string() }) };
    await expect(api().call(here)).rejects.toMatchObject({
      exitCode: 5,
      message: expect.stringContaining('another version of vmcp'),
    });
  });
});

describe('httpApi', () => {
  let silent: Server;
  let port: number;
  beforeAll(async () => {
    silent = createServer((request, response) => {
      if (request.url?.includes('/other') === true) response.writeHead(418).end('<html>teapot');
      // This path redirects to a server that would answer.
      if (request.url?.includes('/things/elsewhere') === true)
        response.writeHead(307, { location: `http://127.0.0.1:${served.port}${request.url}` }).end();
    });
    await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve));
    ({ port } = silent.address() as AddressInfo);
  });
  afterAll(() => {
    silent.closeAllConnections();
    silent.close();
  });
  const open = (at: number, stop = new AbortController().signal) =>
    httpApi({ address: `http://127.0.0.1:${at}`, token: TOKEN, namespace: undefined, place: '', deadline: 200, stop });

  it('limits the time for an answer', async () => {
    await expect(open(port).call(getThing, { params: { name: 'a' } })).rejects.toMatchObject({
      exitCode: 5,
      message: expect.stringContaining('did not answer within 0.2 s'),
    });
  });

  it('rejects when the command is stopped', async () => {
    const stop = new AbortController();
    const calling = open(port, stop.signal).call(getThing, { params: { name: 'a' } });
    stop.abort();
    await expect(calling).rejects.toMatchObject({ message: 'stopped' });
  });

  it('rejects with code 3 if nothing answers', async () => {
    const free = createServer();
    await new Promise<void>((resolve) => free.listen(0, '127.0.0.1', resolve));
    const { port: closed } = free.address() as AddressInfo;
    await new Promise((resolve) => free.close(resolve));
    await expect(open(closed).call(getThing, { params: { name: 'a' } })).rejects.toMatchObject({
      exitCode: 3,
      message: expect.stringContaining('ECONNREFUSED'),
    });
  });

  it('reports an answer of another server', async () => {
    await expect(open(port).call(otherShape)).rejects.toMatchObject({
      exitCode: 5,
      message: 'the management API answered 418: <html>teapot',
    });
  });

  it('does not follow redirects, because the target did not create the token file', async () => {
    const { exitCode, message } = await open(port)
      .call(getThing, { params: { name: 'elsewhere' } })
      .then(() => ({ exitCode: 0, message: '' }))
      .catch((problem: unknown) => problem as { exitCode: number; message: string });
    expect([exitCode, message]).toEqual([3, expect.stringContaining('does not answer')]);
  });

  it('sends the token of the file and the namespace', async () => {
    const wrong = httpApi({
      address: `http://127.0.0.1:${served.port}`,
      token: 'another',
      namespace: 'team-a',
      place: '',
      stop: new AbortController().signal,
    });
    await expect(wrong.call(getThing, { params: { name: 'a' } })).rejects.toMatchObject({ exitCode: 8 });
  });
});

it('translates a refusal into command-line words', () => {
  const detail = 'body name: no name; write another. body secrets[0].target: no name; write another';
  const told = (text: string) => new Refusal({ code: 'bad_request', detail: text }).message;
  expect(told(detail)).toBe('name: no name; write another\nsecrets[0].target: no name; write another');
  expect(told('kubectl owns it: take it over with force=true')).toBe('kubectl owns it: take it over with --force');
  expect(told('make it first (POST /groups, or vmcp group create)')).toBe('make it first (vmcp group create)');
  expect(told('the body is too long')).toBe('the body is too long');
});
