import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { openStream, send, SessionClient, type OpenStream, type Rpc } from '../gateway/session-client.ts';
import type { ServedGateway } from '../gateway/serve-gateway.ts';
import { until } from '../gateway/until.ts';
import { closeAll, configTo, gatewayTo } from '../relay/gateway-to.ts';
import { serveModern, type ModernServer } from './modern-server.ts';

let server: ModernServer;
let gateway: ServedGateway;

const LIMITS = { session_idle: '20s' };
const SETTINGS = {
  operational: { timeouts: { default: '2s' } },
  limits: LIMITS,
  aggregation: { conflict_resolution: 'prefix' },
} as const;

beforeAll(async () => {
  server = await serveModern();
  gateway = await gatewayTo({ modern: server.url }, SETTINGS);
}, 60_000);
afterAll(async () => {
  await closeAll();
  await server.close();
});

const ALL = { elicitation: { form: {}, url: {} }, sampling: {}, roots: {} };
const open = (capabilities: object = ALL) => SessionClient.open(gateway.url, {}, capabilities);
const isQuestion = ({ id, method }: Rpc) => id !== undefined && method !== undefined;
const isAnswer = ({ result, error }: Rpc) => result !== undefined || error !== undefined;

/** Calls a tool on an event stream, so that the test can answer what the server asks. */
function callOn(client: SessionClient, name: string, args: object = {}): Promise<OpenStream> {
  const message = client.message('tools/call', { name: `modern_${name}`, arguments: args });
  return openStream(client.url, client.headers, message);
}

const respond = (client: SessionClient, id: Rpc['id'], outcome: object) =>
  send(client.url, 'POST', client.headers, JSON.stringify({ jsonrpc: '2.0', id, ...outcome }));

const NAMED = { result: { action: 'accept', content: { name: 'Ada' } } };

/** Waits until no request is open at the server. */
const nothingOpen = () => until('no request at the server', () => server.open() === 0);

describe('a question of a server of 2026-07-28', () => {
  it('ends the call with an error result if the client answers with an error, and withdraws the others', async () => {
    const client = await open();
    const call = await callOn(client, 'parallel', { count: 1 });
    const asked = await call.waitFor(({ method }) => method === 'elicitation/create');
    const word = await call.waitFor(({ method }) => method === 'sampling/createMessage');
    await respond(client, asked.id, { error: { code: -1, message: 'the client has no camera' } });
    const { result } = await call.waitFor(isAnswer);
    expect(result).toMatchObject({ isError: true });
    expect(JSON.stringify(result)).toContain('the client has no camera');
    const withdrawn = call
      .messages()
      .flatMap(({ method, params }) => (method === 'notifications/cancelled' ? [params?.requestId] : []));
    expect(withdrawn).toContain(word.id);
    expect(withdrawn).not.toContain(asked.id);
    await nothingOpen();
  });

  it('counts the first answer only', async () => {
    const client = await open();
    const call = await callOn(client, 'rounds', { count: 2 });
    const asked = await call.waitFor(isQuestion);
    await respond(client, asked.id, NAMED);
    await call.waitFor(({ params }) => params?.message === 'round1');
    expect((await respond(client, asked.id, { result: { action: 'decline' } })).status).toBe(202);
    const second = call.messages().find(({ params }) => params?.message === 'round1');
    await respond(client, second?.id, NAMED);
    expect(JSON.stringify((await call.waitFor(isAnswer)).result)).not.toContain('decline');
    // Too late.
    expect((await respond(client, second?.id, NAMED)).status).toBe(202);
  });

  it('takes no answer of another session', async () => {
    const [client, stranger] = [await open(), await open()];
    const call = await callOn(client, 'elicit');
    // The stranger has a session at the backend, too.
    await stranger.call('modern_echo', { text: 'x' });
    const asked = await call.waitFor(isQuestion);
    await respond(stranger, asked.id, { result: { action: 'accept', content: { name: 'Eve' } } });
    await respond(stranger, 'modern:"invented"', NAMED);
    await respond(client, asked.id, NAMED);
    expect(JSON.stringify((await call.waitFor(isAnswer)).result)).toMatch(/Ada/);
  });

  it('ends if the client cancels the call', async () => {
    const client = await open();
    const call = await callOn(client, 'elicit');
    const asked = await call.waitFor(isQuestion);
    await client.notify('notifications/cancelled', { requestId: 1 });
    const withdrawn = await call.waitFor(({ method }) => method === 'notifications/cancelled');
    expect(withdrawn.params?.requestId).toBe(asked.id);
    await until('the end of the stream', () => !call.isOpen());
  });

  it('opens a page, with the id that older revisions require', async () => {
    const client = await open();
    const call = await callOn(client, 'link', { count: 0 });
    const asked = await call.waitFor(isQuestion);
    expect(asked.params).toMatchObject({
      mode: 'url',
      url: 'https://a.example/pay',
      elicitationId: expect.stringMatching(/./),
    });
    await respond(client, asked.id, { result: { action: 'accept' } });
    expect(JSON.stringify((await call.waitFor(isAnswer)).result)).toContain('page');
  });

  it('reaches its call over a reload that replaces the backend', async () => {
    const client = await open();
    const call = await callOn(client, 'elicit');
    const asked = await call.waitFor(isQuestion);
    const changed = configTo({ modern: server.url }, { ...SETTINGS, limits: { ...LIMITS, connect_timeout: '4s' } });
    await gateway.reconfigure(changed);
    // Another call opens the session at the new backend.
    await client.call('modern_echo', { text: 'x' });
    await respond(client, asked.id, NAMED);
    expect(JSON.stringify((await call.waitFor(isAnswer)).result)).toContain('Ada');
  });

  it('ends with the session', async () => {
    const client = await open();
    const call = await callOn(client, 'elicit');
    const asked = await call.waitFor(isQuestion);
    await send(client.url, 'DELETE', client.headers);
    expect((await respond(client, asked.id, NAMED)).status).toBe(404);
    call.close();
    await nothingOpen();
  });
});

const aborted = () => server.counts.read().patient?.aborted ?? 0;
const begun = () => server.counts.read().patient?.begun ?? 0;

type Way = 'cancels it' | 'leaves';

/** Calls a tool that waits for its end. Returns a function that ends the call in one of the two ways of clients. */
function callPatient(client: SessionClient): (way: Way) => Promise<unknown> {
  const left = new AbortController();
  const body = client.message('tools/call', { name: 'modern_patient', arguments: { ms: 600_000 } });
  const { id } = JSON.parse(body) as { id: number };
  const accept = 'application/json, text/event-stream';
  const headers = { 'content-type': 'application/json', accept, ...client.headers };
  const answer = fetch(client.url, { method: 'POST', headers, body, signal: left.signal }).then((got) => got.text());
  answer.catch(() => undefined);
  return async (way) => {
    if (way === 'leaves') left.abort();
    else await Promise.all([client.notify('notifications/cancelled', { requestId: id }), answer]);
  };
}

describe('a cancelled call at a server of 2026-07-28', () => {
  it.each<Way>(['cancels it', 'leaves'])('stops at the server if the client %s', async (way) => {
    const [first, before] = [begun(), aborted()];
    const end = callPatient(await open());
    await until('the call at the server', () => begun() === first + 1);
    await end(way);
    await until('the end at the server', () => aborted() === before + 1);
    await nothingOpen();
  });

  it('leaves nothing open, 500 times', async () => {
    const client = await open();
    const [first, before] = [begun(), aborted()];
    const sockets = () => process.getActiveResourcesInfo().filter((name) => name === 'TCPSocketWrap').length;
    let atFirst = 0;
    for (let calls = 50; calls <= 500; calls += 50) {
      const ends = Array.from({ length: 50 }, () => callPatient(client));
      await until('the calls at the server', () => begun() === first + calls);
      await Promise.all(ends.map((end, index) => end(index % 2 ? 'leaves' : 'cancels it')));
      await until('their end at the server', () => aborted() === before + calls);
      await nothingOpen();
      atFirst ||= sockets();
    }
    // Connections of the calls that were cancelled first may still be idle.
    expect(sockets()).toBeLessThan(atFirst + 100);
    expect((await client.call('modern_echo', { text: 'x' })).answer.result).toMatchObject({});
  }, 60_000);

  it('takes its question along if the client leaves', async () => {
    const client = await open();
    const call = await callOn(client, 'elicit');
    const asked = await call.waitFor(isQuestion);
    const count = server.counts.read().elicit?.begun;
    call.close();
    await until('the end of the call', async () => (await respond(client, asked.id, NAMED)).status === 202);
    await nothingOpen();
    expect(server.counts.read().elicit?.begun).toBe(count);
  });
});

const PROGRESS = '{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":1}}';
const EVENTS = { headers: { 'content-type': 'text/event-stream' } };

function streamOf(text: string, end: (controller: ReadableStreamDefaultController) => void): Response {
  const stream = new ReadableStream({
    start(controller) {
      controller.enqueue(new TextEncoder().encode(text));
      end(controller);
    },
  });
  return new Response(stream, EVENTS);
}

describe('a server of 2026-07-28 that fails', () => {
  const answers: Record<string, [() => Response, RegExp]> = {
    'closes the stream': [() => streamOf(`data: ${PROGRESS}\n\n`, (stream) => stream.close()), /not valid MCP/],
    'breaks the stream': [
      () => streamOf('data: {', (stream) => stream.error(new Error('cut'))),
      /closed the connection/,
    ],
    'does not answer': [() => streamOf(': hello\n\n', () => undefined), /in time/],
    'answers 202': [() => new Response(null, { status: 202 }), /not valid MCP/],
    'answers 503': [() => new Response('busy', { status: 503 }), /HTTP error/],
    'answers no JSON': [() => new Response('{', { headers: { 'content-type': 'application/json' } }), /not valid MCP/],
  };

  it.each(Object.keys(answers))('gives the client an error if it %s', async (how) => {
    const [answer, text] = answers[how]!;
    const client = await open();
    server.answerNext(answer);
    const { answer: got } = await client.call('modern_echo', { text: 'x' });
    expect(got.error?.message).toMatch(text);
    expect((await client.call('modern_echo', { text: 'again' })).answer.result).toMatchObject({});
    await nothingOpen();
  });

  const results: Record<string, object> = {
    'of no type that exists': { resultType: 'job', taskId: 'x' },
    'with a task without a status': { resultType: 'task', taskId: 'x' },
    'that asks for nothing': { resultType: 'input_required' },
    'with questions in a list': { resultType: 'input_required', inputRequests: [{}] },
    'with a question without a method': { resultType: 'input_required', inputRequests: { a: {} } },
    'with a state that is no text': { resultType: 'input_required', requestState: 5 },
    'with 101 questions': {
      resultType: 'input_required',
      inputRequests: Object.fromEntries(Array.from({ length: 101 }, (_, index) => [index, { method: 'roots/list' }])),
    },
  };

  it.each(Object.keys(results))('gives the client an error instead of a result %s', async (what) => {
    const client = await open();
    answerNextWith({ result: results[what]! });
    expect((await client.call('modern_echo', { text: 'x' })).answer.error?.code).toBe(-32603);
  });

  it('asks no client for what only servers do', async () => {
    const client = await open();
    answerNextWith({ result: { resultType: 'input_required', inputRequests: { a: { method: 'tools/call' } } } });
    const { answer, messages } = await client.call('modern_echo', { text: 'x' });
    expect(answer.result).toMatchObject({ isError: true });
    expect(messages.filter(isQuestion)).toEqual([]);
  });

  const errors: [number, number, RegExp][] = [
    [-32022, -32603, /refused/],
    [-32601, -32601, /own words/],
    [-32602, -32602, /own words/],
    [-1, -1, /own words/],
  ];

  it.each(errors)('has its error %d told as %d', async (code, told, text) => {
    const client = await open();
    answerNextWith({ error: { code, message: 'own words' } }, code === -32601 ? 404 : 400);
    const { answer, status: http } = await client.call('modern_echo', { text: 'x' });
    expect(answer.error).toMatchObject({ code: told, message: expect.stringMatching(text) });
    expect(http).toBe(200);
  });

  it('has its tools listed again, and the call sent once more, if it refuses the headers', async () => {
    const client = await open();
    answerNextWith({ error: { code: -32020, message: 'own words' } }, 400);
    const { answer } = await client.call('modern_region', { region: 'eu' });
    expect(answer.result).toMatchObject({ content: [{ text: 'eu' }] });
    expect(server.lastHeaders().get('mcp-param-region')).toBe('eu');
    expect(toolMethods().slice(-3)).toEqual(['tools/call', 'tools/list', 'tools/call']);
  });

  it('gives the client an error if it refuses the headers again', async () => {
    const client = await open();
    answerNextWith({ error: { code: -32020, message: 'own words' } }, 400, 2);
    const { answer } = await client.call('modern_region', { region: 'eu' });
    expect(answer.error).toMatchObject({ code: -32603, message: expect.stringMatching(/refused/) });
    expect(toolMethods().slice(-3)).toEqual(['tools/call', 'tools/list', 'tools/call']);
  });

  it('tells in a result which capability the client lacks', async () => {
    const client = await open({});
    const data = { requiredCapabilities: { sampling: {} } };
    answerNextWith({ error: { code: -32021, message: 'Missing', data } }, 400);
    const { answer } = await client.call('modern_echo', { text: 'x' });
    expect(answer.result).toEqual({ isError: true, content: [{ type: 'text', text: 'Missing: sampling' }] });
  });
});

/** A probe may come between two calls. */
const toolMethods = () => server.methods().filter((method) => method.startsWith('tools/'));

/** Answers the next calls with their own ids. */
function answerNextWith(outcome: object, status = 200, times = 1): void {
  server.answerNext((id) => Response.json({ jsonrpc: '2.0', id, ...outcome }, { status }), times);
}

describe('forged metadata', () => {
  it('reaches the server neither from the client, nor the client from the server', async () => {
    const client = await open({ roots: {} });
    const forged = { 'io.modelcontextprotocol/clientCapabilities': ALL, 'io.modelcontextprotocol/logLevel': 'alert' };
    const _meta = { ...forged, 'IO.ModelContextProtocol/other': 1, 'a.example/mine': 1, traceparent: 'x' };
    const { answer } = await client.request('tools/call', {
      name: 'modern_envelope',
      arguments: {},
      _meta,
      inputResponses: { a: {} },
      requestState: 'x',
      task: {},
    });
    const [{ text }] = answer.result?.content as [{ text: string }];
    expect(JSON.parse(text)).toEqual({
      envelope: {
        'io.modelcontextprotocol/protocolVersion': '2026-07-28',
        'io.modelcontextprotocol/clientInfo': { name: 'test', version: '1' },
        'io.modelcontextprotocol/clientCapabilities': { roots: {} },
        'io.modelcontextprotocol/logLevel': 'debug',
      },
      meta: { 'a.example/mine': 1, traceparent: 'x' },
    });
    expect(answer.result?._meta).toEqual({ 'a.example/own': 2 });
  });
});

describe('Last-Event-ID', () => {
  it('gets an error, as no event of a bridged call has an id', async () => {
    const client = await open();
    const call = await callOn(client, 'steps', { count: 2 });
    const asked = await call.waitFor(isQuestion);
    await respond(client, asked.id, NAMED);
    await call.waitFor(isAnswer);
    expect(call.events().filter(({ id }) => id !== undefined)).toEqual([]);
    const headers = { ...client.headers, accept: 'text/event-stream', 'last-event-id': 'invented' };
    expect((await send(client.url, 'GET', headers)).status).toBe(400);
  });
});
