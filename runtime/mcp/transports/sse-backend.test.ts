import { afterEach, describe, expect, it } from '@jest/globals';
import { Backend as BackendConfig } from '#crds/run-config/backend';
import { ask, NoAnswer, type Answer } from '#runtime/mcp/backends/ask';
import { createBreaker } from '#runtime/mcp/backends/breaker';
import { Deadlines } from '#runtime/mcp/backends/deadlines';
import { unknownHealth } from '#runtime/mcp/backends/health';
import { BufferedBytes } from '#runtime/mcp/backends/buffered-bytes';
import type { Credential, CredentialHeaders } from '#runtime/outgoing/credential';
import { serveSse, type RunningSse, type SseOptions } from '../../../e2e/fakes/sse/serve-sse.ts';
import { until } from '../../../e2e/gateway/until.ts';
import { createSseBackend, type SseBackend, type SseBackendOptions } from './sse-backend.ts';

const open: { close(): Promise<void> }[] = [];
afterEach(async () => {
  for (const one of open.splice(0).reverse()) await one.close();
});

const ignore = () => undefined;
const identity = { key: 'test' } as never;

/** Returns a credential with the tokens `t1`, `t2`, …, one per renewal. */
function countingCredential(): Credential & { renewals: number } {
  const credential = {
    authType: 'test',
    perUser: false,
    renewals: 0,
    headersFor: (): CredentialHeaders => ['authorization', `t${credential.renewals + 1}`],
    invalidate: () => ++credential.renewals > 0,
    close: ignore,
  };
  return credential;
}

async function start(
  options: SseOptions,
  more: Partial<SseBackendOptions> = {},
): Promise<{ server: RunningSse; backend: SseBackend }> {
  const server = await serveSse(options);
  const now = () => performance.now();
  const deadlines = new Deadlines(now);
  const config = BackendConfig.parse({ transport: 'sse', name: 'b', url: server.url });
  if (config.transport !== 'sse') throw new Error('not sse');
  const backend = createSseBackend({
    config,
    credential: countingCredential(),
    authorizer: undefined,
    webhooks: undefined,
    health: unknownHealth(() => 0),
    breaker: createBreaker({ enabled: false, failureThreshold: 1, timeout: 1 }, now),
    deadlines,
    bufferedBytes: new BufferedBytes(134_217_728),
    now,
    maxResponseBytes: 100_000,
    concurrency: { perBackend: 10, queue: 10 },
    connectTimeout: 3_000,
    maxStreams: 10,
    ca: undefined,
    fixedHeaders: () => [],
    sessions: { max: 2, idle: 60_000 },
    log: { debug: ignore, info: ignore, warn: ignore, error: ignore },
    onListChanged: ignore,
    ...more,
  });
  const stopClock = () => {
    deadlines.close();
    return Promise.resolve();
  };
  open.push(server, backend, { close: stopClock });
  return { server, backend };
}

function request(backend: SseBackend, method: string, params: object, session?: string): Promise<Answer> {
  const headers = session === undefined ? [] : ['mcp-session-id', session];
  const paramsText = JSON.stringify(params);
  return ask(backend, { identity, era: 'legacy', method, paramsText, headers, deadline: 1_000 });
}
const initialize = (backend: SseBackend) => request(backend, 'initialize', { protocolVersion: '2025-11-25' });
const call = (backend: SseBackend, name: string, { sessionId }: Answer) =>
  request(backend, 'tools/call', { name }, sessionId);
const reasonOf = (error: unknown) => (error instanceof NoAnswer ? error.failure.reason : error);

describe('a backend whose server refuses the credential', () => {
  it('renews it once, for the stream and for each message, and loses no message', async () => {
    const good = { token: 't2' };
    const { server, backend } = await start({
      tools: { hello: () => 'hello' },
      intercept: ({ headers }, response) => {
        if (headers.authorization === good.token) return false;
        response.writeHead(401).end();
        return true;
      },
    });
    const opened = await initialize(backend);
    expect(opened.result).toBeDefined();
    good.token = 't3';
    expect((await call(backend, 'hello', opened)).result).toMatchObject({ content: [{ text: 'hello' }] });
    expect(server.streams).toHaveLength(1);
    good.token = 'none';
    expect(await call(backend, 'hello', opened).catch(reasonOf)).toBe('unauthorized');
  });
});

describe('a backend with streams', () => {
  it('limits its sessions, and opens another after one has closed', async () => {
    const { server, backend } = await start({ tools: {} });
    const [first] = [await initialize(backend), await initialize(backend)];
    expect(await initialize(backend).catch(reasonOf)).toBe('busy');
    expect(server.streams).toHaveLength(2);
    const sink = { json: ignore, accepted: ignore, open: ignore, event: ignore, close: ignore, fail: ignore };
    const headers = ['mcp-session-id', first.sessionId!];
    const end = {
      identity,
      era: 'legacy',
      method: 'DELETE',
      verb: 'DELETE',
      idText: undefined,
      body: undefined,
    } as const;
    backend.send({ ...end, headers, deadline: 1_000, idempotent: false, sink });
    await until('the end', () => !server.streams[0]!.isOpen());
    expect((await initialize(backend)).sessionId).not.toBe(first.sessionId);
  });

  it('ends a session if the server answers nothing, not even a ping', async () => {
    const state = { deaf: false };
    const { server, backend } = await start(
      {
        tools: { slow: () => undefined },
        intercept: ({ method }, response) => {
          if (method !== 'POST' || !state.deaf) return false;
          response.writeHead(202).end();
          return true;
        },
      },
      { pingDeadline: 2_000 },
    );
    const opened = await initialize(backend);
    // The server answers pings, so a late call does not end the session.
    expect(await call(backend, 'slow', opened).catch(reasonOf)).toBe('timeout');
    await until('the ping', () => server.streams[0]!.posted.some(({ method }) => method === 'ping'));
    expect((await request(backend, 'tools/list', {}, opened.sessionId)).result).toBeDefined();
    state.deaf = true;
    expect(await call(backend, 'slow', opened).catch(reasonOf)).toBe('timeout');
    await until('its end', () => !server.streams[0]!.isOpen());
    expect(await call(backend, 'slow', opened).catch(reasonOf)).toBe('session_lost');
  });

  it('leaves no stream if it closes while sessions open', async () => {
    const { server, backend } = await start({ tools: {}, endpoint: () => undefined });
    const opening = initialize(backend).catch(reasonOf);
    await until('the stream', () => server.streams.length === 1);
    await backend.close();
    expect(await opening).toBe('unavailable');
    await until('its end', () => !server.streams[0]!.isOpen());
    expect(backend.running).toBe(0);
  });
});
