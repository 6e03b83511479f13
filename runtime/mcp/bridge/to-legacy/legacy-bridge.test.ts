import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import type { AnswerSink, Backend, BackendCall } from '#runtime/mcp/backends/backend';
import { unknownHealth } from '#runtime/mcp/backends/health';
import { decodeBackendMessage } from '#runtime/mcp/envelope/decode-backend-message';
import { TaskTools } from './task-tools.ts';
import { CheckedHeaders } from './checked-headers.ts';
import { LegacyBridge } from './legacy-bridge.ts';
import { ParkedCalls } from './parked-calls.ts';

beforeEach(() => {
  jest.useFakeTimers();
});
afterEach(() => {
  jest.useRealTimers();
});

const MINUTE = 60_000;
const ELICITATION = '{"elicitation":{"form":{},"url":{}}}';

/** Records what a backend gets. It answers `initialize` and notifications. */
function fakeBackend() {
  const calls: BackendCall[] = [];
  const aborted: BackendCall[] = [];
  const send = (call: BackendCall) => {
    calls.push(call);
    const id = call.idText ?? 'null';
    const result = '{"protocolVersion":"2025-11-25","capabilities":{"tools":{}}}';
    if (call.method === 'initialize')
      call.sink.json(200, Buffer.from(`{"jsonrpc":"2.0","id":${id},"result":${result}}`), 'result', 's1');
    else if (call.verb === 'GET') call.sink.open({ pause: jest.fn(), resume: jest.fn() }, undefined);
    else if (call.idText === undefined) call.sink.accepted();
    return { isHeld: false, abort: () => aborted.push(call) };
  };
  const config = { transport: 'streamable-http' };
  const places = { perBackend: 8, queue: 8 };
  const backend = { name: 'a', config, places, health: unknownHealth(Date.now), send } as unknown as Backend;
  const messages = () => calls.map(({ body, verb }) => (body ? (JSON.parse(body.toString()) as object) : { verb }));
  return { backend, calls, aborted, messages };
}

function start({ sessionIdle = 1_800_000 } = {}) {
  const fake = fakeBackend();
  const bridge = new LegacyBridge({
    ...{ backend: fake.backend, deadline: 1_000, maxSessions: 100, sessionIdle, version: '0' },
    ...{ now: Date.now, wallClock: Date.now, parkedCalls: new ParkedCalls(), listChanged: jest.fn() },
    checkedHeaders: new CheckedHeaders(),
    taskTools: new TaskTools(),
  });
  /** Sends a call of a tool. Returns the answers so far. */
  const call = (params: object = {}, method = 'tools/call', { key = 'alice', client = '{}' } = {}) => {
    const answers: { result?: Record<string, unknown>; error?: { message: string } }[] = [];
    const failures: string[] = [];
    const fail = ({ reason }: { reason: string }) => failures.push(reason);
    const sink = { fail, json: (_status: number, body: Buffer) => answers.push(JSON.parse(body.toString()) as object) };
    const body = { jsonrpc: '2.0', id: 1, method, params: { name: 'x', ...params } };
    const running = bridge.send({
      ...{ identity: { key } as never, era: 'modern', method, idText: '1', verb: 'POST' },
      ...{ body: Buffer.from(JSON.stringify(body)), headers: [], deadline: 1_000, idempotent: false },
      ...{ caller: { capabilities: ELICITATION, clientInfo: client }, sink: sink as unknown as AnswerSink },
    });
    return { answers, failures, running };
  };
  return { ...fake, bridge, call };
}

const ASKING: ReadonlySet<string> = new Set(['tools/call', 'prompts/get', 'resources/read']);

/** Returns the last request of a client as the backend got it, once it was sent. */
async function sentCall({ calls }: { calls: BackendCall[] }): Promise<BackendCall> {
  await jest.advanceTimersByTimeAsync(1);
  const sent = calls.findLast(({ method, verb }) => ASKING.has(method) && verb === 'POST');
  if (!sent) throw new Error('nothing was sent');
  return sent;
}

function emit({ sink }: BackendCall, message: object): void {
  const data = JSON.stringify({ jsonrpc: '2.0', ...message });
  sink.event({ id: undefined, retry: undefined, data, message: decodeBackendMessage(data) });
}

const question = (id: string) => ({ id, method: 'elicitation/create', params: { message: id } });

describe('a call that waits for input', () => {
  it('gathers requests for 15 ms into one round', async () => {
    const at = start();
    const { answers } = at.call();
    const sent = await sentCall(at);
    for (const id of ['q1', 'q2']) emit(sent, question(id));
    await jest.advanceTimersByTimeAsync(10);
    emit(sent, question('q3'));
    await jest.advanceTimersByTimeAsync(14);
    expect(answers).toEqual([]);
    await jest.advanceTimersByTimeAsync(1);
    expect(Object.keys(answers[0]?.result?.inputRequests as object)).toHaveLength(3);
  });

  it('expires after ten minutes, and the backend is told so', async () => {
    const at = start();
    const { answers } = at.call();
    const sent = await sentCall(at);
    emit(sent, question('q1'));
    await jest.advanceTimersByTimeAsync(15);
    expect(at.bridge.load.parked).toBe(1);
    await jest.advanceTimersByTimeAsync(10 * MINUTE);
    expect(at.messages()).toContainEqual(
      expect.objectContaining({ id: 'q1', error: expect.objectContaining({ code: -32000 }) }),
    );
    expect(at.messages()).toContainEqual(expect.objectContaining({ method: 'notifications/cancelled' }));
    expect(at.aborted).toEqual([sent]);
    expect(at.bridge.load.parked).toBe(0);
    const requestState = answers[0]?.result?.requestState;
    expect(at.call({ requestState }).answers[0]?.error?.message).toBe(
      'No input came in time, so the call was cancelled',
    );
    await jest.advanceTimersByTimeAsync(2 * MINUTE);
    expect(at.call({ requestState }).answers[0]?.error?.message).toBe('requestState is invalid or expired');
  });

  it('has the answer of a backend that gave up meanwhile', async () => {
    const at = start();
    const { answers } = at.call();
    const sent = await sentCall(at);
    emit(sent, question('q1'));
    await jest.advanceTimersByTimeAsync(15);
    emit(sent, { id: Number(sent.idText), result: { content: [], isError: true } });
    const retry = at.call({ requestState: answers[0]?.result?.requestState });
    expect(retry.answers[0]?.result).toEqual({ resultType: 'complete', content: [], isError: true });
  });

  it('refuses more than a hundred requests of the backend at once', async () => {
    const at = start();
    const { answers } = at.call();
    const sent = await sentCall(at);
    for (let asked = 1; asked <= 102; asked += 1) emit(sent, question(`q${asked}`));
    await jest.advanceTimersByTimeAsync(15);
    expect(Object.keys(answers[0]?.result?.inputRequests as object)).toHaveLength(100);
    for (const id of ['q101', 'q102'])
      expect(at.messages()).toContainEqual(
        expect.objectContaining({ id, error: expect.objectContaining({ code: -32601 }) }),
      );
  });

  it('keeps a small result for repeated retries, and no large one', async () => {
    for (const [bytes, expected] of [
      [10, undefined],
      [2_000_000, 'too_large'],
    ] as const) {
      const at = start();
      const { answers } = at.call();
      const sent = await sentCall(at);
      emit(sent, question('q1'));
      await jest.advanceTimersByTimeAsync(15);
      emit(sent, { id: Number(sent.idText), result: { text: 'x'.repeat(bytes) } });
      const { requestState } = answers[0]?.result ?? {};
      expect(at.call({ requestState }).answers[0]?.result?.resultType).toBe('complete');
      expect(at.call({ requestState }).failures).toEqual(expected === undefined ? [] : [expected]);
    }
  });

  it('keeps a result for its first retry as long as the state is valid', async () => {
    const at = start();
    const { answers } = at.call();
    const sent = await sentCall(at);
    emit(sent, question('q1'));
    await jest.advanceTimersByTimeAsync(15);
    emit(sent, { id: Number(sent.idText), result: { content: [] } });
    await jest.advanceTimersByTimeAsync(9 * MINUTE);
    const requestState = answers[0]?.result?.requestState;
    expect(at.call({ requestState }).answers[0]?.result?.resultType).toBe('complete');
  });

  it('keeps at most 64 results of one caller', async () => {
    const at = start();
    const states: unknown[] = [];
    for (let calls = 0; calls < 65; calls += 1) {
      const { answers } = at.call();
      const sent = await sentCall(at);
      emit(sent, question('q'));
      await jest.advanceTimersByTimeAsync(15);
      emit(sent, { id: Number(sent.idText), result: { content: [] } });
      states.push(answers[0]?.result?.requestState);
    }
    const [first, second] = states.map((requestState) => at.call({ requestState }).answers[0]);
    expect(first?.error?.message).toMatch(/is gone/);
    expect(second?.result?.resultType).toBe('complete');
  });

  it.each([
    ['tools/call', { result: { isError: true } }],
    ['prompts/get', { error: { code: -32603, data: { reason: 'link_not_opened' } } }],
    ['resources/read', { error: { code: -32603, data: { reason: 'link_not_opened' } } }],
  ])('ends in the form of %s if the user did not open the link', async (method, expected) => {
    const at = start();
    const { answers } = at.call({ uri: 'a:b' }, method);
    const { sink } = await sentCall(at);
    const error = {
      code: -32042,
      message: 'Open it',
      data: { elicitations: [{ message: 'a', url: 'https://a.test' }] },
    };
    sink.json(200, Buffer.from(JSON.stringify({ jsonrpc: '2.0', id: 1, error })), 'error', undefined);
    const { requestState } = answers[0]?.result ?? {};
    const retry = { uri: 'a:b', requestState, inputResponses: { 'url-1': { action: 'decline' } } };
    expect(at.call(retry, method).answers).toMatchObject([expected]);
  });

  it('ends after a hundred rounds', async () => {
    const at = start();
    let { answers } = at.call();
    const sent = await sentCall(at);
    for (let round = 1; round <= 100; round += 1) {
      emit(sent, question(`q${round}`));
      await jest.advanceTimersByTimeAsync(15);
      const { requestState } = answers[0]?.result ?? {};
      const inputResponses = { [`elicitation-${round}`]: { action: 'accept' } };
      ({ answers } = at.call({ requestState, inputResponses }));
    }
    expect(answers).toEqual([]);
    emit(sent, question('q101'));
    await jest.advanceTimersByTimeAsync(15);
    expect(answers[0]?.error?.message).toBe('The backend asked for input too often, so the call was cancelled');
    expect(at.messages()).toContainEqual(expect.objectContaining({ method: 'notifications/cancelled' }));
    expect(at.bridge.load.parked).toBe(0);
  });

  it('has at most 16 retries that wait, of which the first one fails', async () => {
    const at = start();
    const { answers } = at.call();
    emit(await sentCall(at), question('q1'));
    await jest.advanceTimersByTimeAsync(15);
    const { requestState } = answers[0]?.result ?? {};
    const retry = { requestState, inputResponses: { 'elicitation-1': { action: 'accept' } } };
    const retries = Array.from({ length: 17 }, () => at.call(retry));
    expect(retries.map(({ failures }) => failures)).toEqual([['busy'], ...Array<string[]>(16).fill([])]);
  });

  it('gives the backend the first answer only', async () => {
    const at = start();
    const { answers } = at.call();
    emit(await sentCall(at), question('q1'));
    await jest.advanceTimersByTimeAsync(15);
    const { requestState } = answers[0]?.result ?? {};
    for (const name of ['Ada', 'Eve'])
      at.call({ requestState, inputResponses: { 'elicitation-1': { action: 'accept', content: { name } } } });
    const given = at.messages().filter((message) => (message as { id?: unknown }).id === 'q1');
    expect(given).toEqual([expect.objectContaining({ result: { action: 'accept', content: { name: 'Ada' } } })]);
  });

  it('refuses a retry at another process', async () => {
    const at = start();
    const { answers } = at.call();
    emit(await sentCall(at), question('q1'));
    await jest.advanceTimersByTimeAsync(15);
    const { requestState } = answers[0]?.result ?? {};
    expect(start().call({ requestState }).answers[0]?.error?.message).toBe('requestState is invalid or expired');
  });
});

describe('a call whose client leaves', () => {
  it('ends with a cancellation at the backend', async () => {
    const at = start();
    const { running } = at.call();
    const sent = await sentCall(at);
    running.abort();
    expect(at.messages()).toContainEqual({
      ...{ jsonrpc: '2.0', method: 'notifications/cancelled' },
      params: { requestId: Number(sent.idText), reason: 'The client cancelled the request' },
    });
    expect(at.aborted).toEqual([sent]);
  });

  it('sends nothing if its session was still opening', async () => {
    const at = start();
    at.call().running.abort();
    await jest.advanceTimersByTimeAsync(1);
    expect(at.calls.some(({ method }) => method === 'tools/call')).toBe(false);
  });
});

describe('a session at the backend', () => {
  it('ends after five minutes without a call', async () => {
    const at = start();
    at.call();
    const sent = await sentCall(at);
    await jest.advanceTimersByTimeAsync(6 * MINUTE);
    expect(at.messages()).not.toContainEqual({ verb: 'DELETE' });
    const body = Buffer.from(`{"jsonrpc":"2.0","id":${sent.idText},"result":{}}`);
    sent.sink.json(200, body, 'result', undefined);
    await jest.advanceTimersByTimeAsync(4 * MINUTE);
    expect(at.messages()).not.toContainEqual({ verb: 'DELETE' });
    await jest.advanceTimersByTimeAsync(2 * MINUTE);
    expect(at.messages()).toContainEqual({ verb: 'DELETE' });
  });

  it('ends earlier if the sessions of clients do', async () => {
    const at = start({ sessionIdle: MINUTE });
    at.call();
    const sent = await sentCall(at);
    sent.sink.json(200, Buffer.from(`{"jsonrpc":"2.0","id":${sent.idText},"result":{}}`), 'result', undefined);
    await jest.advanceTimersByTimeAsync(2 * MINUTE);
    expect(at.messages()).toContainEqual({ verb: 'DELETE' });
  });

  it('ends before those of other principals if its own principal opens too many', async () => {
    const at = start();
    const openFor = async (key: string, client: string) => {
      at.call({}, 'tools/list', { key, client });
      await jest.advanceTimersByTimeAsync(1);
      const { sink, idText } = at.calls.findLast(({ method }) => method === 'tools/list')!;
      sink.json(200, Buffer.from(`{"jsonrpc":"2.0","id":${idText},"result":{"tools":[]}}`), 'result', undefined);
    };
    const ended = () => at.calls.filter(({ verb }) => verb === 'DELETE').map(({ identity }) => identity.key);
    await openFor('bob', '{}');
    for (let clients = 1; clients <= 64; clients += 1) await openFor('alice', `{"name":"${clients}"}`);
    expect(ended()).toEqual([]);
    await openFor('alice', '{"name":"65"}');
    expect(ended()).toEqual(['alice']);
  });
});
