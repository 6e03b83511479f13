import { BufferedBytes } from '#runtime/mcp/backends/buffered-bytes';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Backend as BackendConfig, type StdioBackend as StdioConfig } from '#crds/run-config/backend';
import { unknownHealth } from '#runtime/mcp/backends/health';
import type { Flow, RunningCall } from '#runtime/mcp/backends/backend';
import { probe } from '#runtime/mcp/backends/probe';
import { createBreaker } from '#runtime/mcp/backends/breaker';
import { Deadlines } from '#runtime/mcp/backends/deadlines';
import type { CallFailure } from '#runtime/mcp/backends/failures';
import type { Log } from '#runtime/telemetry/log';
import { isAlive, until } from './testdata/wait.ts';
import { createStdioBackend, type StdioBackend } from './stdio-backend.ts';
import type { StdioBackendOptions } from './stdio-backend-options.ts';

const fixture = fileURLToPath(new URL('testdata/stdio-server.ts', import.meta.url));
const identity = { key: 'test' } as never;

interface Answer {
  text: string | undefined;
  events: string[];
  failure: CallFailure | undefined;
  sessionId: string | undefined;
  accepted: boolean;
}
interface Options {
  id?: number | string;
  session?: string | undefined;
  deadline?: number;
  verb?: 'POST' | 'GET' | 'DELETE';
  onEvent?: (data: string, flow: Flow | undefined) => void;
  onSent?: (running: RunningCall) => void;
}

function send(backend: StdioBackend, body: object | string | undefined, options: Options = {}): Promise<Answer> {
  const message = typeof body === 'object' ? { jsonrpc: '2.0', ...body } : body;
  const { id, method }: { id?: unknown; method?: string } =
    typeof message === 'string' ? JSON.parse(message) : { ...message };
  const answer: Answer = { text: undefined, events: [], failure: undefined, sessionId: undefined, accepted: false };
  const text = typeof message === 'string' ? message : JSON.stringify(message);
  return new Promise((resolve) => {
    let flow: Flow | undefined;
    const running = backend.send({
      identity,
      era: 'legacy',
      method: method ?? 'notification',
      idText: method !== undefined && id !== undefined ? JSON.stringify(id) : undefined,
      verb: options.verb ?? 'POST',
      body: message === undefined ? undefined : Buffer.from(text),
      headers: options.session === undefined ? [] : ['mcp-session-id', options.session],
      deadline: options.deadline ?? 10_000,
      idempotent: false,
      sink: {
        json: (_status, line, _kind, sessionId) => resolve({ ...answer, text: line.toString(), sessionId }),
        accepted: () => resolve({ ...answer, accepted: true }),
        open: (opened) => {
          flow = opened;
        },
        event: ({ data }) => {
          answer.events.push(data);
          options.onEvent?.(data, flow);
        },
        close: () => resolve(answer),
        fail: (failure) => resolve({ ...answer, failure }),
      },
    });
    options.onSent?.(running);
  });
}

const initializeParams = {
  protocolVersion: '2025-11-25',
  capabilities: { sampling: {} },
  clientInfo: { name: 'c', version: '1' },
};
const initialize = (backend: StdioBackend) =>
  send(backend, { id: 'i', method: 'initialize', params: initializeParams });
const call = (backend: StdioBackend, name: string, args: object = {}, options: Options = {}, meta: object = {}) =>
  send(backend, { id: options.id ?? 1, method: 'tools/call', params: { name, arguments: args, ...meta } }, options);
interface Message {
  id: unknown;
  method: string | undefined;
  params: { uri: string };
  result: { content: { text: string }[]; x: string; capabilities: object; received: { capabilities: object } };
}
function parse(text: string | undefined): Message {
  const message: Message = JSON.parse(text ?? '{}');
  return message;
}
/** Returns the result of the fixture's tool. */
function returned({ text, failure }: Pick<Answer, 'text'> & Partial<Answer>): unknown {
  if (text === undefined) throw new Error(failure?.error.message ?? 'no answer');
  return JSON.parse(parse(text).result.content[0]?.text ?? 'null');
}
const pidIn = (answer: Answer) => Number(returned(answer));
function listIn(answer: Answer): unknown[] {
  const list = returned(answer);
  return Array.isArray(list) ? list : [];
}
const open: { close(): Promise<void> }[] = [];
afterEach(async () => {
  await Promise.all(open.splice(0).map((one) => one.close()));
});

function readConfig(settings: object): StdioConfig {
  const config = BackendConfig.parse(settings);
  if (config.transport !== 'stdio') throw new Error('not stdio');
  return config;
}

interface Started {
  backend: StdioBackend;
  logged: string[];
  changed: string[];
}
function start(config: object = {}, more: Partial<StdioBackendOptions> = {}): Started {
  const logged: string[] = [];
  const changed: string[] = [];
  const note = (message: string, fields?: object) => void logged.push(`${message} ${JSON.stringify(fields)}`);
  const log: Log = { debug: note, info: note, warn: note, error: note };
  const now = () => performance.now();
  const deadlines = new Deadlines(now);
  const bufferedBytes = new BufferedBytes(134_217_728);
  const backend = createStdioBackend({
    config: readConfig({ transport: 'stdio', name: 'b', command: process.execPath, args: [fixture], ...config }),
    env: { PATH: '/usr/bin:/bin' },
    secrets: [],
    credential: { headersFor: () => [], invalidate: () => false, close: () => undefined } as never,
    authorizer: undefined,
    webhooks: undefined,
    health: unknownHealth(() => 0),
    breaker: createBreaker({ enabled: false, failureThreshold: 1, timeout: 1 }, now),
    deadlines,
    bufferedBytes,
    now,
    maxResponseBytes: 100_000,
    concurrency: { perBackend: 100, queue: 100 },
    sessions: { max: 100, maxProcesses: 4, idle: 60_000 },
    initializeParams: JSON.stringify({ ...initializeParams, capabilities: {} }),
    startDeadline: 10_000,
    backoff: { first: 20, last: 1000, healthy: 60_000 },
    log,
    onListChanged: (method) => void changed.push(method),
    ...more,
  });
  open.push({ close: () => backend.close().then(() => deadlines.close()) });
  return { backend, logged, changed };
}

describe.each(['shared', 'perSession'] as const)('a backend on standard input and output, %s', (stdio_process) => {
  const begin = async (config: object = {}, more: Partial<StdioBackendOptions> = {}) => {
    const started = start({ stdio_process, ...config }, more);
    const { sessionId: session, text } = await initialize(started.backend);
    await send(started.backend, { method: 'notifications/initialized' }, { session });
    return { ...started, session, initialized: parse(text) };
  };

  /** A shared backend, for tests that leave its process unchanged. */
  let common: ReturnType<typeof begin>;
  const kept: { close(): Promise<void> }[] = [];
  beforeAll(async () => {
    common = begin();
    await common;
    kept.push(...open.splice(0));
  });
  afterAll(async () => {
    await Promise.all(kept.map((one) => one.close()));
  });

  it('reports a silent start until the process sends something, e.g. while npx downloads a program', async () => {
    const silent = ['-e', 'setInterval(() => 0, 1000)'];
    const { backend } = start({ stdio_process, args: silent });
    const body = { id: 1, method: 'initialize', params: initializeParams };
    const { failure } = await send(backend, body, { deadline: 200 });
    expect([failure?.reason, failure?.error.message]).toEqual([
      'timeout',
      'backend b is starting; try again in a moment',
    ]);
    const found = await probe(backend, { identity, deadline: 200, version: '1' });
    expect(found).toMatchObject({ reachable: false, message: expect.stringMatching(/ is starting/) });
    const talks = { command: '/bin/sh', args: ['-c', 'echo fetching; exec sleep 60'] };
    const { backend: late } = start({ stdio_process, ...talks });
    const answered = await send(late, body, { deadline: 700 });
    expect(answered.failure?.error.message).toContain('did not answer in time');
  });

  it('answers initialize with a session, with the id of the client', async () => {
    const { initialized, session } = await common;
    expect(initialized).toMatchObject({ id: 'i', result: { serverInfo: { name: 'fixture' } } });
    expect(session).toMatch(/^[0-9a-f-]{36}$/);
  });

  it('gives each client its own answer if all use the same id and progress token', async () => {
    const { backend, session } = await common;
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, n) => call(backend, 'slow', { ms: 20 - n, n }, { session, id: 7 })),
    );
    expect(answers.map((one) => parse(one.text).id)).toEqual(answers.map(() => 7));
    const echoes = await Promise.all(Array.from({ length: 20 }, (_, n) => call(backend, 'echo', { n }, { session })));
    expect(echoes.map((one) => returned(one))).toEqual(echoes.map((_, n) => ({ n })));
  });

  it('returns each id with its type', async () => {
    const { backend, session } = await common;
    const ids = [1, '1', 'ö"\\', -5];
    const answers = await Promise.all(ids.map((id) => call(backend, 'echo', {}, { session, id })));
    expect(answers.map(({ text }) => parse(text).id)).toEqual(ids);
  });

  it('passes progress to the stream of its call, with the token of the client', async () => {
    const { backend, session } = await common;
    const meta = { _meta: { progressToken: 'mine', other: 1 } };
    const [first, second] = await Promise.all([
      call(backend, 'progress', { steps: 2 }, { session }, meta),
      call(backend, 'progress', { steps: 1 }, { session, id: 2 }, meta),
    ]);
    const params = (events: string[]) => events.slice(0, -1).map((data) => parse(data).params);
    expect(params(first.events)).toEqual([
      { progressToken: 'mine', progress: 1 },
      { progressToken: 'mine', progress: 2 },
    ]);
    expect(parse(first.events.at(-1))).toMatchObject({ id: 1, result: {} });
    expect(params(second.events)).toEqual([{ progressToken: 'mine', progress: 1 }]);
    expect(parse(second.events.at(-1)).id).toBe(2);
  });

  it('drops progress, but not the answer, while the client does not read', async () => {
    const { backend, session } = await common;
    const onEvent: Options['onEvent'] = (_, flow) => flow?.pause();
    const { events } = await call(
      backend,
      'progress',
      { steps: 500 },
      { session, onEvent },
      { _meta: { progressToken: 1 } },
    );
    expect(events).toHaveLength(2);
    expect(parse(events[1])).toMatchObject({ id: 1 });
  });

  it('accepts a message that spans many lines', async () => {
    const { backend, session } = await common;
    const message = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'echo', arguments: { a: 'x\ny' } } };
    const text = JSON.stringify(message, null, 2).replaceAll('\n', '\r\n');
    expect(returned(await send(backend, text, { session }))).toEqual({ a: 'x\ny' });
  });

  it('ignores and counts invalid messages, second answers and answers without a call', async () => {
    const { backend, session } = await begin();
    expect(returned(await call(backend, 'garbage', {}, { session }))).toBe('after');
    expect(returned(await call(backend, 'twice', {}, { session }))).toBe('first');
    expect(returned(await call(backend, 'wrong', {}, { session }))).toBe('right');
    expect(returned(await call(backend, 'echo', { n: 1 }, { session }))).toEqual({ n: 1 });
    expect(backend.noise).toEqual({ garbage: 4, stray: 4, oversized: 0 });
  });

  it('refuses only the answer above the limit, wherever its id is', async () => {
    const { backend, session } = await begin();
    const [first, last, beside] = await Promise.all([
      call(backend, 'big', { bytes: 3_000_000 }, { session }),
      call(backend, 'bigLast', { bytes: 3_000_000 }, { session, id: 2 }),
      call(backend, 'slow', { ms: 50 }, { session, id: 3 }),
    ]);
    expect([first, last].map(({ failure }) => failure?.reason)).toEqual(['too_large', 'too_large']);
    expect(returned(beside)).toBe('late');
    const { text } = await call(backend, 'big', { bytes: 90_000 }, { session });
    expect(parse(text).result.x).toHaveLength(90_000);
    expect(backend.noise.oversized).toBe(2);
  });

  it('removes forged keys and invalid UTF-8', async () => {
    const { backend, session } = await common;
    expect(parse((await call(backend, 'forge', {}, { session })).text).result).toEqual({
      content: [],
      _meta: { own: 2 },
    });
    expect(parse((await call(backend, 'bytes', {}, { session })).text).result).toEqual({ x: '\ufffd' });
  });

  it('gives up a call after its deadline and informs the process', async () => {
    const { backend, session } = await common;
    const { failure } = await call(backend, 'hang', {}, { session, deadline: 150 });
    expect(failure).toMatchObject({ reason: 'timeout', sent: true });
    await until(async () => listIn(await call(backend, 'cancelled', {}, { session })).length > 0);
    expect(backend.running).toBe(0);
  });

  it("cancels the client's call under the id of the process", async () => {
    const { backend, session } = await common;
    const before = listIn(await call(backend, 'cancelled', {}, { session }));
    const hanging = call(backend, 'hang', {}, { session, id: 'same' });
    const params = { requestId: 'same', reason: 'no' };
    await send(backend, { method: 'notifications/cancelled', params: { requestId: 'other' } }, { session });
    expect(await send(backend, { method: 'notifications/cancelled', params }, { session })).toMatchObject({
      accepted: true,
    });
    expect((await hanging).failure?.reason).toBe('aborted');
    const cancelled = listIn(await call(backend, 'cancelled', {}, { session }));
    expect(cancelled.at(-1)).toEqual(expect.any(Number));
    expect(cancelled.slice(before.length)).toHaveLength(1);
  });

  it('drops a call whose client has left', async () => {
    const { backend, session } = await common;
    const strayBefore = backend.noise.stray;
    void call(backend, 'slow', { ms: 1000 }, { session, onSent: (running) => setTimeout(() => running.abort(), 10) });
    await until(() => backend.running === 0);
    expect(returned(await call(backend, 'echo', { n: 1 }, { session, id: 2 }))).toEqual({ n: 1 });
    await until(() => backend.noise.stray === strayBefore + 1);
  });

  it('fails the calls in flight at once when the process dies', async () => {
    const { backend, session } = await begin();
    const [hanging, dying] = await Promise.all([
      call(backend, 'hang', {}, { session }),
      call(backend, 'exit', {}, { session, id: 2 }),
    ]);
    expect(hanging.failure).toMatchObject({ reason: 'ended', sent: true });
    expect(dying.failure).toMatchObject({ reason: 'ended', sent: true });
  });

  it('refuses calls above the limit', async () => {
    const { backend, session } = await begin({}, { concurrency: { perBackend: 1, queue: 1 } });
    const running: RunningCall[] = [];
    for (const id of [1, 2]) void call(backend, 'hang', {}, { session, id, onSent: (one) => running.push(one) });
    expect((await call(backend, 'echo', {}, { session, id: 3 })).failure?.reason).toBe('busy');
    for (const one of running) one.abort();
    expect(returned(await call(backend, 'echo', {}, { session }))).toEqual({});
  });

  it('rejects unknown and ended sessions', async () => {
    const { backend, session } = await begin();
    expect((await call(backend, 'echo', {}, { session: 'made-up' })).failure).toMatchObject({
      reason: 'session_lost',
      sent: false,
    });
    expect((await send(backend, undefined, { session, verb: 'DELETE' })).accepted).toBe(true);
    expect((await call(backend, 'echo', {}, { session })).failure?.reason).toBe('session_lost');
  });

  it('announces changed lists', async () => {
    const { backend, session, changed } = await common;
    await call(backend, 'changed', {}, { session });
    expect(changed).toEqual(['notifications/tools/list_changed']);
  });

  it('starts the process with exactly the configured environment', async () => {
    const { backend, session } = await begin({}, { env: { ONLY: 'this' } });
    expect(returned(await call(backend, 'environment', {}, { session }))).toEqual({ ONLY: 'this' });
  });

  it('writes standard error to the debug log, limited and without secrets', async () => {
    const { backend, session, logged } = await begin({}, { env: { SECRET: 'hunter2' }, secrets: ['hunter2'] });
    await call(backend, 'log', {}, { session });
    await until(() => logged.some((line) => line.includes('[redacted] on stderr')));
    expect(logged.join()).not.toContain('hunter2');
  });

  it('ends the process, its children, and children that ignore SIGTERM', async () => {
    const { backend, session } = await begin();
    const pids = [
      pidIn(await call(backend, 'pid', {}, { session })),
      pidIn(await call(backend, 'offspring', {}, { session })),
      pidIn(await call(backend, 'offspring', { ignoring: true }, { session })),
    ];
    await call(backend, 'stubborn', {}, { session });
    expect(pids.filter(isAlive)).toEqual(pids);
    const before = performance.now();
    await backend.close();
    expect(performance.now() - before).toBeLessThan(10_000);
    await until(() => !pids.some(isAlive));
  });

  it('ends the children of a process that dies by itself', async () => {
    const { backend, session } = await begin();
    const pid = pidIn(await call(backend, 'offspring', {}, { session }));
    await call(backend, 'exit', {}, { session });
    await until(() => !isAlive(pid));
  });

  it('reports a command that cannot be started, and closes', async () => {
    const { backend, logged } = start({ stdio_process, command: '/nowhere/at-all' });
    expect((await initialize(backend)).failure).toMatchObject({ reason: 'unavailable' });
    expect(logged.length).toBeGreaterThan(0);
    expect((await initialize(backend)).failure).toMatchObject({ reason: 'unavailable', sent: false });
  });

  it('reports why its process is missing in status, but not to callers', async () => {
    const { backend } = start({ stdio_process, command: '/nowhere/at-all' });
    await initialize(backend);
    const message =
      'its process cannot be started (ENOENT): there is no program "/nowhere/at-all" here: install it, or correct the command';
    expect(await probe(backend, { identity, deadline: 5000, version: '1' })).toMatchObject({
      reachable: false,
      message,
    });
    expect((await initialize(backend)).failure?.error.message).toBe('backend b cannot be reached; try again later');
  });
});

describe('one process for all clients', () => {
  it('starts it once, initializes it without capabilities, and shares it', async () => {
    const { backend } = start();
    const sessions = (await Promise.all([1, 2, 3].map(() => initialize(backend)))).map(({ sessionId }) => sessionId);
    expect(new Set(sessions).size).toBe(3);
    const pids = await Promise.all(sessions.map(async (session) => pidIn(await call(backend, 'pid', {}, { session }))));
    expect(new Set(pids).size).toBe(1);
    expect(backend.starts).toBe(1);
    const seen = listIn(await call(backend, 'received', {}, { session: sessions[0] }));
    expect(seen.filter((method) => method === 'initialize' || method === 'notifications/initialized')).toEqual([
      'initialize',
      'notifications/initialized',
    ]);
  });

  it('logs the exit and the last lines, without secrets, of a process that ends before it serves', async () => {
    const program = 'console.error("no database: give it KEY=hidden"); setTimeout(() => process.exit(3), 50)';
    const { backend, logged } = start({ args: ['-e', program] }, { secrets: ['hidden'] });
    await initialize(backend);
    const gone = logged.filter((line) => line.startsWith('the process of a backend is gone'));
    expect(gone.join()).toContain('exited with code 3');
    expect(gone.join()).toContain('"said":"no database: give it KEY=[redacted]"');
  });

  it('offers no logging, as its log lines belong to no client', async () => {
    const { backend } = start();
    const { text, sessionId: session } = await initialize(backend);
    const { capabilities, received } = parse(text).result;
    expect(capabilities).toEqual({ tools: {}, resources: { subscribe: true } });
    expect(received.capabilities).toEqual({});
    expect((await call(backend, 'log', {}, { session })).events).toEqual([]);
    await send(backend, { id: 1, method: 'logging/setLevel', params: { level: 'debug' } }, { session });
    expect(listIn(await call(backend, 'received', {}, { session }))).not.toContain('logging/setLevel');
  });

  it('restarts it after a crash with its subscriptions, and keeps the sessions', async () => {
    const { backend, changed } = start();
    const { sessionId: session } = await initialize(backend);
    await send(backend, { id: 1, method: 'resources/subscribe', params: { uri: 'f://1' } }, { session });
    const pid = pidIn(await call(backend, 'pid', {}, { session }));
    await call(backend, 'exit', {}, { session });
    await until(async () => (await call(backend, 'pid', {}, { session })).failure === undefined);
    expect(pidIn(await call(backend, 'pid', {}, { session }))).not.toBe(pid);
    expect(returned(await call(backend, 'subscribed', {}, { session }))).toEqual(['f://1']);
    expect(changed).toContain('notifications/tools/list_changed');
  });

  it('waits longer and longer between failing starts', async () => {
    const { backend, logged } = start({}, { env: { REFUSE: '1' } });
    expect((await initialize(backend)).failure?.reason).toBe('unavailable');
    await until(() => logged.filter((line) => line.includes('startsAgainInMs')).length >= 3);
    const waits = logged.map((line) => Number(/startsAgainInMs":(\d+)/.exec(line)?.[1])).slice(0, 3);
    expect(waits).toEqual([20, 40, 80]);
  });

  it('reports a process that no longer answers as down', async () => {
    const { backend } = start({
      args: [
        '-e',
        'process.stdin.once("data",()=>console.log(JSON.stringify({jsonrpc:"2.0",id:1,result:{capabilities:{}}})))',
      ],
    });
    const { failure } = await send(
      backend,
      { id: 1, method: 'initialize', params: initializeParams },
      { deadline: 1500 },
    );
    expect(failure?.reason).toBe('timeout');
  });

  it('restarts a process that leaves pings unanswered', async () => {
    const deaf =
      'process.stdin.once("data",()=>console.log(JSON.stringify({jsonrpc:"2.0",id:1,result:{capabilities:{}}})))';
    const { backend } = start({ args: ['-e', deaf] }, { startDeadline: 1_000 });
    for (let tries = 0; tries < 3; tries++) expect((await initialize(backend)).failure?.reason).toBe('timeout');
    await until(() => backend.starts === 2);
  });

  it('notifies each session of its own subscriptions, and unsubscribes with the last session', async () => {
    const { backend } = start();
    const [one, two] = (await Promise.all([initialize(backend), initialize(backend)])).map(
      ({ sessionId }) => sessionId,
    );
    const events: string[] = [];
    const streams = [one, two].map((session) =>
      send(backend, undefined, {
        session,
        verb: 'GET',
        deadline: 0,
        onEvent: (data) => events.push(`${session === one ? 'one' : 'two'} ${parse(data).params.uri}`),
      }),
    );
    const ask = (method: string, uri: string, session: string | undefined) =>
      send(backend, { id: 1, method, params: { uri } }, { session });
    await ask('resources/subscribe', 'f://1', one);
    await ask('resources/subscribe', 'f://1', two);
    await ask('resources/subscribe', 'f://2', two);
    for (const uri of ['f://1', 'f://2', 'f://3']) await call(backend, 'touch', { uri }, { session: one });
    expect(events.sort()).toEqual(['one f://1', 'two f://1', 'two f://2']);
    await ask('resources/unsubscribe', 'f://1', one);
    expect(returned(await call(backend, 'subscribed', {}, { session: one }))).toEqual(['f://1', 'f://2']);
    await send(backend, undefined, { session: two, verb: 'DELETE' });
    expect(returned(await call(backend, 'subscribed', {}, { session: one }))).toEqual([]);
    await streams[1];
    await backend.close();
    await streams[0];
  });

  it('refuses requests of the process to a client', async () => {
    const { backend } = start();
    const { sessionId: session } = await initialize(backend);
    expect(returned(await call(backend, 'ask', {}, { session }))).toMatchObject({ id: 'q1', error: { code: -32601 } });
  });
});

describe('one process for each session', () => {
  it('starts one per session, initialized by its client, and ends it with the session', async () => {
    const { backend } = start({ stdio_process: 'perSession' });
    const answers = await Promise.all([initialize(backend), initialize(backend)]);
    expect(parse(answers[0].text).result.received).toEqual(initializeParams);
    const sessions = answers.map(({ sessionId }) => sessionId);
    const pids = await Promise.all(sessions.map(async (session) => pidIn(await call(backend, 'pid', {}, { session }))));
    expect(new Set(pids).size).toBe(2);
    await send(backend, undefined, { session: sessions[0], verb: 'DELETE' });
    await until(() => !isAlive(pids[0] ?? 0));
    expect(pidIn(await call(backend, 'pid', {}, { session: sessions[1] }))).toBe(pids[1]);
  });

  it('passes requests of the process to its client, and the answer back', async () => {
    const { backend } = start({ stdio_process: 'perSession' });
    const { sessionId: session } = await initialize(backend);
    const onEvent: Options['onEvent'] = (data) => {
      const message = parse(data);
      if (message.method === 'sampling/createMessage')
        void send(backend, { id: message.id, result: { role: 'assistant' } }, { session });
    };
    const { events } = await call(backend, 'ask', {}, { session, onEvent });
    expect(returned({ text: events.at(-1) })).toEqual({
      jsonrpc: '2.0',
      id: 'q1',
      result: { role: 'assistant' },
    });
  });

  it('starts none after it is closed', async () => {
    const { backend } = start({ stdio_process: 'perSession' });
    await backend.close();
    expect((await initialize(backend)).failure?.reason).toBe('unavailable');
    expect(backend.starts).toBe(0);
  });

  it('ends an idle session with its process', async () => {
    const { backend } = start({ stdio_process: 'perSession' }, { sessions: { max: 9, maxProcesses: 9, idle: 500 } });
    const { sessionId: session } = await initialize(backend);
    const pid = pidIn(await call(backend, 'pid', {}, { session }));
    await until(() => !isAlive(pid));
  });

  it('drops the session when its process ends, and opens the next at once', async () => {
    const { backend } = start({ stdio_process: 'perSession' });
    const { sessionId: session } = await initialize(backend);
    await call(backend, 'exit', {}, { session });
    expect((await call(backend, 'echo', {}, { session })).failure?.reason).toBe('session_lost');
    expect((await initialize(backend)).sessionId).toBeDefined();
  });

  it('starts no more processes than the limit', async () => {
    const { backend } = start(
      { stdio_process: 'perSession' },
      { sessions: { max: 100, maxProcesses: 1, idle: 60_000 } },
    );
    expect((await initialize(backend)).sessionId).toBeDefined();
    expect((await initialize(backend)).failure?.reason).toBe('busy');
  });
});

describe('a real server', () => {
  it('keeps its state over a restart of its process', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'memory-'));
    const main = fileURLToPath(import.meta.resolve('@modelcontextprotocol/server-memory/dist/index.js'));
    const started = () =>
      start({ args: [main] }, { env: { PATH: '/usr/bin:/bin', MEMORY_FILE_PATH: join(folder, 'memory.json') } })
        .backend;
    const first = started();
    const { sessionId: session } = await initialize(first);
    const { text } = await send(first, { id: 1, method: 'tools/list', params: {} }, { session });
    expect(text).toContain('"create_entities"');
    const entities = [{ name: 'vmcp', entityType: 'thing', observations: ['größe'] }];
    expect((await call(first, 'create_entities', { entities }, { session })).text).toContain('größe');
    await first.close();
    const second = started();
    const { sessionId: again } = await initialize(second);
    expect((await call(second, 'read_graph', {}, { session: again })).text).toContain('größe');
    await second.close();
    rmSync(folder, { recursive: true });
  });
});
