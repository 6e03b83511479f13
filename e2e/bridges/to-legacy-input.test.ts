import { describe, expect, it } from '@jest/globals';
import { sendModern } from '../gateway/session-client.ts';
import { configTo, gatewayTo } from '../relay/gateway-to.ts';
import { ANSWERS } from '../sdk-servers/connect-sdk-client.ts';
import { connectModern } from './connect-modern.ts';
import { useOldServers, type OldServerKind } from './old-servers.ts';

const urlOf = useOldServers();

const start = async (kind: OldServerKind) => (await gatewayTo({ old: urlOf(kind) })).url;

const EXPECTED = {
  elicit: { action: 'accept', content: { name: 'Ada' } },
  sample: { role: 'assistant', content: { type: 'text', text: 'word' }, model: 'test' },
  roots: { roots: [{ uri: 'file:///work' }] },
};

describe.each([
  ['sse', 'call'],
  ['sse', 'session'],
  ['json', 'session'],
  ['resumable', 'call'],
  ['resumable', 'session'],
] as const)('an older server with %s answers that asks on the stream of the %s', (kind, stream) => {
  it.each(['elicit', 'sample', 'roots'] as const)('gets the answer of a client of 2026-07-28: %s', async (name) => {
    const { call } = await connectModern(await start(kind), { answers: ANSWERS });
    const { text, isError } = await call(name, { stream });
    expect(isError).toBeUndefined();
    expect(JSON.parse(text ?? '')).toEqual(EXPECTED[name]);
  });

  it('serves concurrent calls that ask', async () => {
    const { call } = await connectModern(await start(kind), { answers: ANSWERS });
    const all = await Promise.all(['elicit', 'sample', 'roots', 'elicit'].map((name) => call(name, { stream })));
    expect(all.map(({ text }) => JSON.parse(text ?? '') as unknown)).toEqual([
      EXPECTED.elicit,
      EXPECTED.sample,
      EXPECTED.roots,
      EXPECTED.elicit,
    ]);
  });
});

describe('a client of 2026-07-28 without the capability', () => {
  it.each(['call', 'session'])('gets the error of the older server (%s)', async (stream) => {
    const { call } = await connectModern(await start('sse'));
    expect(await call('elicit', { stream })).toMatchObject({ isError: true });
  });
});

const CAPABILITIES = { elicitation: { form: {} } };

/** Calls the tool that elicits, and returns its answer. */
async function elicit(
  url: string,
  more: Record<string, unknown> = {},
  args: object = { stream: 'call' },
  headers: Record<string, string> = {},
) {
  const _meta = { 'io.modelcontextprotocol/clientCapabilities': CAPABILITIES };
  const params = { name: 'old_elicit', arguments: args, _meta, ...more };
  return (await sendModern(url, 'tools/call', params, headers)).answer;
}

const inputResponses = { 'elicitation-1': EXPECTED.elicit };

describe('a call that waits for input', () => {
  it('answers with the request of the backend and a state', async () => {
    const { result } = await elicit(await start('sse'));
    expect(result).toMatchObject({
      resultType: 'input_required',
      inputRequests: { 'elicitation-1': { method: 'elicitation/create', params: { message: 'What is your name?' } } },
      requestState: expect.any(String),
    });
  });

  it('runs once, although the client repeats its retry', async () => {
    const url = await start('sse');
    const { counts } = await connectModern(url);
    const before = (await counts()).elicit?.begun ?? 0;
    const { result } = await elicit(url);
    const requestState = result?.requestState;
    const first = await Promise.all([1, 2, 3].map(() => elicit(url, { requestState, inputResponses })));
    const late = await elicit(url, { requestState, inputResponses });
    for (const { result: outcome } of [...first, late]) {
      expect(outcome).toMatchObject({ resultType: 'complete' });
      expect(JSON.parse((outcome?.content as { text: string }[])[0]?.text ?? '')).toEqual(EXPECTED.elicit);
    }
    expect((await counts()).elicit?.begun).toBe(before + 1);
  });

  it('asks again for what the retry does not answer', async () => {
    const url = await start('sse');
    const { result } = await elicit(url);
    const { requestState } = result ?? {};
    const again = await elicit(url, { requestState, inputResponses: { other: EXPECTED.elicit } });
    expect(again.result).toMatchObject({ resultType: 'input_required', inputRequests: { 'elicitation-1': {} } });
    const done = await elicit(url, { requestState: again.result?.requestState, inputResponses });
    expect(done.result).toMatchObject({ resultType: 'complete' });
  });

  it.each([
    ['a changed state', (state: string) => ({ requestState: `${state.slice(0, -2)}AA` })],
    ['an invented state', () => ({ requestState: 'x' })],
    ['a state with more characters', (state: string) => ({ requestState: `${state}=` })],
    ['a state that is no string', () => ({ requestState: 1 })],
    ['other arguments', (requestState: string) => ({ requestState, arguments: { stream: 'session' } })],
    ['another tool', (requestState: string) => ({ requestState, name: 'old_sample' })],
    ['responses that are no object', (requestState: string) => ({ requestState, inputResponses: [] })],
  ])('refuses %s with -32602 and runs nothing', async (_name, change) => {
    const url = await start('sse');
    const { counts } = await connectModern(url);
    const { result } = await elicit(url);
    const before = await counts();
    const { error } = await elicit(url, { inputResponses, ...change(String(result?.requestState)) });
    expect(error?.code).toBe(-32602);
    const after = await counts();
    expect([after.elicit, after.sample]).toEqual([before.elicit, before.sample]);
  });

  it('takes one of 100 places of an anonymous address, and none of another address', async () => {
    const { url } = await gatewayTo({ old: urlOf('sse') }, { trusted_proxies: ['127.0.0.1/32'] });
    const from = (address: string) => elicit(url, {}, undefined, { 'x-forwarded-for': address });
    const answers = await Promise.all(Array.from({ length: 101 }, () => from('192.0.2.1')));
    const waiting = answers.filter(({ result }) => result?.resultType === 'input_required');
    expect(waiting).toHaveLength(100);
    const refused = answers.find(({ error }) => error !== undefined)?.error;
    expect(refused).toMatchObject({ code: -32603, data: { reason: 'too_many_waiting' } });
    expect((await from('192.0.2.2')).result).toMatchObject({ resultType: 'input_required' });
    const { call } = await connectModern(url);
    expect(await call('echo', { text: 'still there' })).toMatchObject({ text: 'still there' });
  });

  it('leaves its place to other calls', async () => {
    const operational = { concurrency: { per_backend: 1, queue: 1 } };
    const { url, runtime } = await gatewayTo({ old: urlOf('sse') }, { operational });
    const { result } = await elicit(url);
    await elicit(url);
    const read = async (path: string) => (await fetch(`http://127.0.0.1:${runtime.address.privatePort}${path}`)).text();
    expect(JSON.parse(await read('/status'))).toMatchObject({ backends: [{ name: 'old', phase: 'ready' }] });
    const metrics = await read('/metrics');
    expect(metrics).toMatch(/^vmcp_backend_calls_parked{backend="old"} 2$/m);
    // A session for each call, and those of the lists.
    expect(Number(/^vmcp_backend_bridged_sessions{backend="old"} (\d+)$/m.exec(metrics)?.[1])).toBeGreaterThan(2);
    const { call } = await connectModern(url);
    expect(await call('echo', { text: 'a' })).toMatchObject({ text: 'a' });
    const done = await elicit(url, { requestState: result?.requestState, inputResponses });
    expect(done).toMatchObject({ result: { resultType: 'complete' } });
  });

  it('continues after a reload that replaced its backend', async () => {
    const backends = { old: urlOf('sse') };
    const gateway = await gatewayTo(backends);
    const { result } = await elicit(gateway.url);
    await gateway.reconfigure(configTo(backends, { operational: { concurrency: { per_backend: 7 } } }));
    const done = await elicit(gateway.url, { requestState: result?.requestState, inputResponses });
    expect(done).toMatchObject({ result: { resultType: 'complete' } });
  });
});
