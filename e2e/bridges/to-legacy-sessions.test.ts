import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, describe, expect, it } from '@jest/globals';
import { protectedGateway } from '../attacks/protected-gateway.ts';
import { serveTokens } from '../fakes/token-service.ts';
import { sendModern } from '../gateway/session-client.ts';
import { until } from '../gateway/until.ts';
import { closeAll, closing, gatewayTo } from '../relay/gateway-to.ts';
import { serveLegacy, type RunTool } from './serve-legacy.ts';

afterEach(closeAll);

const CAPABILITIES = { elicitation: { form: {}, url: {} }, roots: {}, sampling: {} };

const text = (value: unknown) => ({ content: [{ type: 'text', text: JSON.stringify(value) }] });

/** Asks on the stream of the session once all calls of the test run, and returns the client's answer. */
const askBeside: RunTool = async ({ askBeside: ask, message }) => {
  const { name } = message.params?.arguments as { name: string };
  await sleep(300);
  return text([name, (await ask('elicitation/create', { message: name })).result]);
};

/** Tools of the backend. */
const tools: Record<string, RunTool> = {
  count: ({ session }) => text(session.calls),
  meta: ({ message }) => text(message.params),
  ask: async ({ ask }) => text((await ask('elicitation/create', { message: 'Name?', elicitationId: 'e' })).result),
  ask_beside: ({ session, message, response }) => {
    session.stream?.write(
      `data: ${JSON.stringify({ jsonrpc: '2.0', id: `beside-${message.id}`, method: 'elicitation/create', params: { message: session.id } })}\n\n`,
    );
    response.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders();
    return undefined;
  },
  ask_beside_and_wait: askBeside,
  missing: () => ({ error: { code: -32002, message: 'No such resource' } }),
  reserved: () => ({ error: { code: -32021, message: 'Forged' } }),
  link: () => ({
    error: {
      code: -32042,
      message: 'Open it',
      data: { elicitations: [{ message: 'Log in', url: 'https://a.test/' }] },
    },
  }),
  forged: () => ({ resultType: 'input_required', _meta: { 'io.modelcontextprotocol/serverInfo': 1 }, content: [] }),
  silent: () => undefined,
  cut: ({ response, send }) => {
    send({ jsonrpc: '2.0', method: 'notifications/message', params: { level: 'info', data: 'x' } });
    setTimeout(() => response.destroy(), 20);
    return undefined;
  },
  failing: ({ response }) => {
    response.writeHead(503).end();
    return undefined;
  },
};

/** Starts the backend behind a gateway that requires tokens. */
async function start(more: { asksEarly?: boolean; timeout?: string } = {}) {
  const backend = closing(await serveLegacy({ tools, ...more }));
  const at = await protectedGateway({
    config: {
      backends: [{ name: 'a', transport: 'streamable-http', url: backend.url }],
      ...(more.timeout === undefined ? {} : { operational: { timeouts: { default: more.timeout } } }),
    },
  });
  const call = async (name: string, params: Record<string, unknown> = {}, sub = 'alice') => {
    const { capabilities = CAPABILITIES, clientInfo, ...rest } = params;
    const _meta = {
      'io.modelcontextprotocol/clientCapabilities': capabilities,
      ...(clientInfo === undefined ? {} : { 'io.modelcontextprotocol/clientInfo': clientInfo }),
      ...(rest._meta as object | undefined),
    };
    const all = { name: `a_${name}`, arguments: {}, ...rest, _meta };
    const { status, answer } = await sendModern(at.gateway.url, 'tools/call', all, await at.bearer({ sub }));
    const [first] = (answer.result?.content ?? []) as { text: string }[];
    return {
      status,
      ...answer,
      value: first && !answer.result?.isError ? (JSON.parse(first.text) as unknown) : undefined,
    };
  };
  return { backend, call, url: at.gateway.url };
}

describe('the session of a principal at a backend of older revisions', () => {
  it('keeps its state from call to call, for one principal, capabilities and client', async () => {
    const { call, backend } = await start();
    const values: unknown[] = [];
    for (const [params, sub] of [
      [{}, 'alice'],
      [{}, 'alice'],
      [{}, 'bob'],
      [{ capabilities: {} }, 'alice'],
      [{ clientInfo: { name: 'other', version: '2' } }, 'alice'],
      [{}, 'alice'],
    ] as const)
      values.push((await call('count', params, sub)).value);
    expect(values).toEqual([1, 2, 1, 1, 1, 3]);
    const infos = backend.seen
      .filter(({ message }) => message.method === 'initialize')
      .map(({ message }) => (message.params?.clientInfo as { name: string }).name);
    expect(infos).toContain('other');
  });

  it('declares the capabilities of the client, without extensions and tasks', async () => {
    const { call, backend } = await start();
    await call('count', { capabilities: { ...CAPABILITIES, extensions: { 'a/b': {} }, tasks: {} } });
    expect([...backend.sessions.values()].map(({ capabilities }) => capabilities)).toContainEqual(CAPABILITIES);
  });

  it('opens its stream before it is initialized', async () => {
    const { call, backend } = await start();
    await call('count');
    const id = [...backend.sessions.values()].find(({ calls }) => calls > 0)?.id;
    const own = backend.seen.filter(({ session }) => session === id);
    expect(own.slice(0, 2).map(({ verb, message }) => message.method ?? verb)).toEqual([
      'GET',
      'notifications/initialized',
    ]);
  });

  it('opens again if the backend forgot it, and the call runs once', async () => {
    const { call, backend } = await start();
    await call('count');
    backend.forget();
    expect((await call('count')).value).toBe(1);
    expect((await call('count')).value).toBe(2);
  });

  it('gets no member of the protocol in _meta, and a progress token of its own', async () => {
    const { call } = await start();
    const { value } = await call('meta', {
      _meta: { progressToken: 'mine', 'a.test/x': 1 },
      arguments: { a: 1 },
      inputResponses: { x: {} },
    });
    expect(value).toEqual({
      name: 'meta',
      arguments: { a: 1 },
      _meta: { 'a.test/x': 1, progressToken: expect.any(Number) },
    });
    expect((await call('meta')).value).toEqual({ name: 'meta', arguments: {} });
  });
});

describe('a backend of older revisions with a credential for each user', () => {
  it('serves clients of 2026-07-28, although the gateway alone cannot learn its revision', async () => {
    const backend = closing(await serveLegacy({ tools, needsToken: true }));
    const { url: token_url } = closing(await serveTokens());
    const auth = {
      type: 'token_exchange' as const,
      ...{ token_url, client_id: 'vmcp', client_secret_file: 'secret', audience: 'own' },
    };
    const backends = [{ name: 'a', transport: 'streamable-http' as const, url: backend.url, auth }];
    const at = await protectedGateway({ files: { secret: 'cl1ent-s3cret' }, config: { backends } });
    const bearer = await at.bearer();
    const { answer } = await sendModern(at.gateway.url, 'tools/list', {}, bearer);
    expect(answer.result?.tools).toContainEqual(expect.objectContaining({ name: 'a_count' }));
    const called = await sendModern(at.gateway.url, 'tools/call', { name: 'a_count', arguments: {} }, bearer);
    expect(called.answer.result).toMatchObject(text(1));
  });
});

describe('a backend of older revisions that the gateway has not probed yet', () => {
  it('serves the first requests of a client of 2026-07-28', async () => {
    const backend = closing(await serveLegacy({ tools, opensAfter: 100 }));
    const audit = { audit_config: { enabled: true } };
    const gateway = await gatewayTo({ a: backend.url }, audit, { probed: false });
    const requests = Array.from({ length: 4 }, () =>
      sendModern(gateway.url, 'tools/call', { name: 'a_count', arguments: {} }),
    );
    const answers = await Promise.all(requests);
    expect(answers.map(({ answer }) => answer.result)).toMatchObject(answers.map(() => text(1)));
    // The gateway's own probe and one for all clients.
    expect(backend.count('server/discover')).toBeLessThanOrEqual(2);
    const isNamed = (line: string) => line.includes('"mcp_tool_call"') && line.includes('"bridge":"modern-to-legacy"');
    await until('audit lines that name the bridge', () => gateway.log().split('\n').filter(isNamed).length === 4);
  });
});

describe('an anonymous call', () => {
  it('has a session of its own, which ends with it', async () => {
    const backend = closing(await serveLegacy({ tools }));
    const { url } = await gatewayTo({ a: backend.url });
    const once = async () => (await sendModern(url, 'tools/call', { name: 'a_count', arguments: {} })).answer.result;
    expect([await once(), await once()]).toMatchObject([text(1), text(1)]);
    await until('their ends', () => [...backend.sessions.values()].every(({ calls }) => calls === 0));
  });
});

describe('an answer of a backend of older revisions', () => {
  it.each([
    ['missing', { status: 200, error: { code: -32602 } }],
    ['reserved', { status: 200, error: { code: -32603 } }],
    ['forged', { status: 200, result: { resultType: 'complete', content: [] } }],
    ['failing', { status: 200, error: { code: -32603, data: { reason: 'http_error' } } }],
  ])('gets the form of 2026-07-28: %s', async (name, expected) => {
    const { call } = await start();
    const answer = await call(name);
    expect(answer).toMatchObject(expected);
    expect(JSON.stringify(answer)).not.toContain('serverInfo');
  });

  it('ends with an error if the backend cuts the stream', async () => {
    const { call } = await start();
    expect(await call('cut', { _meta: { 'io.modelcontextprotocol/logLevel': 'debug' } })).toMatchObject({
      error: { code: -32603, data: { reason: 'reset' } },
    });
  });

  it('becomes an error and a cancellation if it never comes', async () => {
    const { call, backend } = await start({ timeout: '500ms' });
    expect(await call('silent')).toMatchObject({ error: { code: -32603, data: { reason: 'timeout' } } });
    await until('the cancellation', () => backend.count('notifications/cancelled') > 0);
  });
});

const accepted = { action: 'accept', content: { name: 'Ada' } };

describe('a request of a backend of older revisions', () => {
  it('for roots before any call is asked with the next call, before that is sent', async () => {
    const { call, backend } = await start({ asksEarly: true });
    const { result } = await call('count');
    expect(result).toMatchObject({
      resultType: 'input_required',
      inputRequests: { 'roots-1': { method: 'roots/list' } },
    });
    expect(backend.count('tools/call')).toBe(0);
    const { requestState } = result ?? {};
    const done = await call('count', { requestState, inputResponses: { 'roots-1': { roots: [] } } });
    expect(done.value).toBe(1);
  });

  it('loses members that only older revisions have', async () => {
    const { call } = await start();
    const { result } = await call('ask');
    expect(result?.inputRequests).toEqual({
      'elicitation-1': { method: 'elicitation/create', params: { message: 'Name?' } },
    });
  });

  it('cannot be answered by another principal', async () => {
    const { call, backend } = await start();
    const { requestState } = (await call('ask')).result ?? {};
    const inputResponses = { 'elicitation-1': accepted };
    expect((await call('ask', { requestState, inputResponses }, 'bob')).error?.code).toBe(-32602);
    expect((await call('ask', { requestState, inputResponses })).value).toEqual(accepted);
    expect(backend.count('tools/call')).toBe(1);
  });

  it('parks at most 16 calls of one principal, and the seventeenth fails', async () => {
    const { call } = await start();
    const answers = await Promise.all(Array.from({ length: 17 }, () => call('ask')));
    expect(answers.filter(({ result }) => result?.resultType === 'input_required')).toHaveLength(16);
    expect(answers.find(({ error }) => error !== undefined)?.error).toMatchObject({
      code: -32603,
      message: expect.stringMatching(/16 calls of this caller wait for input/),
      data: { reason: 'too_many_waiting' },
    });
    expect((await call('ask', {}, 'bob')).result).toMatchObject({ resultType: 'input_required' });
  });

  it('to open a link becomes input, and the retry is a new call', async () => {
    const { call, backend } = await start();
    const { result } = await call('link');
    expect(result?.inputRequests).toEqual({
      'url-1': { method: 'elicitation/create', params: { mode: 'url', message: 'Log in', url: 'https://a.test/' } },
    });
    const { requestState } = result ?? {};
    await call('link', { requestState, inputResponses: { 'url-1': { action: 'accept' } } });
    expect(backend.count('tools/call')).toBe(2);
    const declined = await call('link', { requestState, inputResponses: { 'url-1': { action: 'decline' } } });
    expect(declined.result).toMatchObject({ isError: true });
    expect(backend.count('tools/call')).toBe(2);
  });

  it('on its own stream gets its answer, also if it is the first one and several calls run', async () => {
    const { call, backend } = await start();
    await call('count');
    const names = ['one', 'two', 'three'];
    const values = await Promise.all(
      names.map(async (name) => {
        const params = { arguments: { name } };
        const { result } = await call('ask_beside_and_wait', params);
        const { 'elicitation-1': asked } = result?.inputRequests as Record<string, { params: { message: string } }>;
        const answer = { action: 'accept', content: { name: asked?.params.message } };
        const inputResponses = { 'elicitation-1': answer };
        const retry = { ...params, requestState: result?.requestState, inputResponses };
        return (await call('ask_beside_and_wait', retry)).value;
      }),
    );
    // The backend gets each answer to the question that it belongs to.
    expect(values).toEqual(names.map((name) => [name, { action: 'accept', content: { name } }]));
    const called = backend.seen.filter(({ message }) => message.method === 'tools/call');
    expect(new Set(called.map(({ session }) => session)).size).toBe(1);
  });

  it('on its own stream gives each further call a session alone', async () => {
    const { call } = await start();
    const sessionsOf = (answers: Awaited<ReturnType<typeof call>>[]) =>
      answers.map(
        ({ result }) =>
          (result?.inputRequests as Record<string, { params: { message: string } }>)['elicitation-1']?.params.message,
      );
    const [first] = sessionsOf([await call('ask_beside')]);
    const further = sessionsOf(await Promise.all([1, 2, 3].map(() => call('ask_beside'))));
    expect(new Set([first, ...further]).size).toBe(4);
  });
});
