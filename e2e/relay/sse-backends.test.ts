import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';
import { afterEach, describe, expect, it } from '@jest/globals';
import { serveSse, type FakeStream, type RunningSse, type SseOptions } from '../fakes/sse/serve-sse.ts';
import { findFreePort } from '../gateway/find-free-port.ts';
import { openStream, send, SessionClient, type Rpc } from '../gateway/session-client.ts';
import type { ServedGateway } from '../gateway/serve-gateway.ts';
import { startProgram } from '../gateway/start-program.ts';
import { until } from '../gateway/until.ts';
import { closeAll, closing, configTo, gatewayTo } from './gateway-to.ts';

afterEach(closeAll);

const EVERYTHING = fileURLToPath(
  new URL('../../node_modules/@modelcontextprotocol/server-everything/dist/index.js', import.meta.url),
);
type Settings = Exclude<Parameters<typeof configTo>[0][string], string>;
const sse = (url: string, more: object = {}) => ({ one: { url, transport: 'sse', ...more } as Settings });
const fake = async (options: SseOptions): Promise<RunningSse> => closing(await serveSse(options));
const textOf = ({ result }: Rpc) => (result?.content as { text: string }[] | undefined)?.[0]?.text;
const methodsOf = ({ posted }: FakeStream) => posted.map(({ method }) => method);
/** Returns the streams of clients that called. The gateway has another one for its lists, at any time. */
const callersOf = (server: RunningSse) => server.streams.filter((one) => methodsOf(one).includes('tools/call'));
const lastOf = (server: RunningSse) => callersOf(server).at(-1)!;
const hello = { hello: () => 'hello' };
/** Short deadlines of a test: an unanswered probe, and a call. */
const quick = {
  operational: { failure_handling: { health_check_timeout: '3s' }, timeouts: { default: '3s' } },
  limits: { list_deadline: '3s' },
};

async function statusOf(gateway: ServedGateway): Promise<{ phase: string; message: string }> {
  const { text } = await send(`http://127.0.0.1:${gateway.runtime.address.privatePort}/status`, 'GET', {});
  const { backends } = JSON.parse(text) as { backends: { phase: string; message: string }[] };
  return backends[0]!;
}

describe('a backend with the transport of 2024-11-05', () => {
  it('serves as the reference server: tools, progress, and its own requests to the client', async () => {
    const port = await findFreePort();
    const program = startProgram(process.execPath, [EVERYTHING, 'sse'], { ...process.env, PORT: String(port) });
    closing({ close: () => program.stop() });
    await until('the server', () => program.output().includes('running on port'));
    const gateway = await gatewayTo(sse(`http://127.0.0.1:${port}/sse`));
    const client = await SessionClient.open(gateway.url, {}, { sampling: {} });
    const names = await client.toolNames();
    expect(names).toEqual(expect.arrayContaining(['one_echo', 'one_get-sum']));
    expect(textOf((await client.call('one_echo', { message: 'through' })).answer)).toBe('Echo: through');
    const long = await client.request('tools/call', {
      name: 'one_trigger-long-running-operation',
      arguments: { duration: 0.2, steps: 2 },
      _meta: { progressToken: 'mine' },
    });
    const progress = long.messages.filter(({ method }) => method === 'notifications/progress');
    expect(progress.map(({ params }) => params?.progressToken)).toEqual(['mine', 'mine']);
    const body = client.message('tools/call', {
      name: 'one_trigger-sampling-request',
      arguments: { prompt: 'p', maxTokens: 5 },
    });
    const stream = await openStream(client.url, client.headers, body);
    const asked = await stream.waitFor(({ method }) => method === 'sampling/createMessage');
    const result = { model: 'm', role: 'assistant', content: { type: 'text', text: 'sampled' } };
    const answer = JSON.stringify({ jsonrpc: '2.0', id: asked.id, result });
    expect((await send(client.url, 'POST', client.headers, answer)).status).toBe(202);
    expect(JSON.stringify(await stream.waitFor((message) => message.result !== undefined))).toContain('sampled');
  });

  it('has one stream for each client session, which ends with it, and separates calls of the same id', async () => {
    const server = await fake({ tools: { which: (_message, { id }) => `stream ${id}` } });
    const gateway = await gatewayTo(sse(server.url));
    const clients = await Promise.all([1, 2].map(() => SessionClient.open(gateway.url)));
    const answers = await Promise.all(clients.map((client) => client.call('one_which')));
    const said = answers.map(({ answer }) => textOf(answer));
    expect(new Set(said).size).toBe(2);
    const again = await Promise.all(clients.map((client) => client.call('one_which')));
    expect(again.map(({ answer }) => textOf(answer))).toEqual(said);
    for (const client of clients) await send(client.url, 'DELETE', client.headers);
    expect(callersOf(server)).toHaveLength(2);
    await until('the ends', () => callersOf(server).every((stream) => !stream.isOpen()));
  });

  it("gets the client's cancellation under its own id of the call", async () => {
    const server = await fake({ tools: { slow: () => undefined } });
    const gateway = await gatewayTo(sse(server.url));
    const client = await SessionClient.open(gateway.url);
    const running = openStream(client.url, client.headers, client.message('tools/call', { name: 'one_slow' }));
    await until('the call', () => callersOf(server).length > 0);
    const { posted } = lastOf(server);
    await client.notify('notifications/cancelled', { requestId: 1 });
    await until('the cancellation', () => methodsOf(lastOf(server)).includes('notifications/cancelled'));
    const cancelled = posted.find(({ method }) => method === 'notifications/cancelled');
    const call = posted.find(({ method }) => method === 'tools/call');
    expect(cancelled?.params).toMatchObject({ requestId: call?.id });
    (await running).close();
  });

  it('announces its changed list to every session by its stream', async () => {
    const tools: SseOptions['tools'] = { ...hello };
    const server = await fake({ tools });
    const gateway = await gatewayTo(sse(server.url));
    const client = await SessionClient.open(gateway.url);
    expect(await client.toolNames()).toEqual(['one_hello']);
    const stream = await client.stream();
    await client.call('one_hello');
    tools.more = () => 'more';
    lastOf(server).say({ method: 'notifications/tools/list_changed' });
    await stream.waitFor(({ method }) => method === 'notifications/tools/list_changed');
    expect(await client.toolNames()).toEqual(['one_hello', 'one_more']);
    stream.close();
  });

  it('keeps its streams over an unrelated reload, and connections over calls', async () => {
    const server = await fake({ tools: hello });
    const gateway = await gatewayTo(sse(server.url));
    const client = await SessionClient.open(gateway.url);
    await client.call('one_hello');
    await until('the lists of the gateway itself', () =>
      server.streams.some((stream) => methodsOf(stream).includes('tools/list')),
    );
    const connections = server.connections();
    await gateway.reconfigure(configTo(sse(server.url), { audit_config: { enabled: false } }));
    for (let i = 0; i < 5; i++) expect(textOf((await client.call('one_hello')).answer)).toBe('hello');
    expect(callersOf(server)).toHaveLength(1);
    // The gateway's own requests may still open one.
    expect(server.connections()).toBeLessThanOrEqual(connections + 1);
  });
});

describe('the credential of a backend with streams', () => {
  const auth = { type: 'header_injection', header_name: 'x-key', value_file: 'key' };

  it('goes with the stream and with each message', async () => {
    const server = await fake({
      tools: { key: ({ id }, { posted }) => String(posted.find((one) => one.id === id)?.headers['x-key']) },
    });
    const forward = { add_plaintext_headers: { 'X-Team': 'a' } };
    const gateway = await gatewayTo(
      sse(server.url, { auth, header_forward: forward }),
      {},
      { files: { key: 'secret' } },
    );
    const client = await SessionClient.open(gateway.url);
    expect(textOf((await client.call('one_key')).answer)).toBe('secret');
    expect(lastOf(server).headers).toMatchObject({ 'x-key': 'secret', 'x-team': 'a' });
    for (const { headers } of lastOf(server).posted) {
      expect(headers).toMatchObject({ 'x-key': 'secret', 'x-team': 'a' });
      expect(headers['mcp-session-id']).toBeUndefined();
    }
  });

  it('makes the backend degraded if refused at the stream, and callers get that reason', async () => {
    const server = await fake({
      tools: hello,
      intercept: ({ headers }, response) => {
        if (headers['x-key'] === 'good') return false;
        response.writeHead(401, { 'www-authenticate': 'Bearer realm="leak"' }).end();
        return true;
      },
    });
    const gateway = await gatewayTo(sse(server.url, { auth }), {}, { files: { key: 'bad' } });
    expect(await statusOf(gateway)).toMatchObject({ phase: 'degraded', message: expect.stringContaining('refuse') });
    const client = await SessionClient.open(gateway.url);
    expect(await client.toolNames()).toEqual([]);
  });
});

describe('a backend with a faulty stream', () => {
  it('gets no message if it names an endpoint at another origin, and the status says why', async () => {
    const received: string[] = [];
    const thief = createServer((request, response) => {
      received.push(request.url ?? '');
      response.writeHead(202).end();
    });
    await new Promise<void>((resolve) => void thief.listen(0, '127.0.0.1', resolve));
    closing({ close: () => thief.close() });
    const elsewhere = `http://127.0.0.1:${(thief.address() as AddressInfo).port}/messages`;
    const server = await fake({ tools: hello, endpoint: () => elsewhere });
    const gateway = await gatewayTo(sse(server.url), quick);
    expect(await statusOf(gateway)).toMatchObject({
      phase: 'unavailable',
      message: expect.stringContaining('names an endpoint at another origin'),
    });
    expect(received).toEqual([]);
  });

  it('becomes unavailable if it names no endpoint, and others serve', async () => {
    const [silent, good] = [await fake({ tools: hello, endpoint: () => undefined }), await fake({ tools: hello })];
    const gateway = await gatewayTo({ ...sse(silent.url), two: sse(good.url).one }, quick);
    expect((await statusOf(gateway)).phase).toBe('unavailable');
    const client = await SessionClient.open(gateway.url);
    expect(await client.toolNames()).toEqual(['two_hello']);
    await until('the stream to be left', () => silent.streams.every((stream) => !stream.isOpen()));
  });

  it('becomes unavailable if it sends no stream', async () => {
    const server = await fake({ tools: hello });
    const gateway = await gatewayTo(sse(server.url.replace('/sse', '/none')), quick);
    expect(await statusOf(gateway)).toMatchObject({
      phase: 'unavailable',
      message: expect.stringContaining('check its URL'),
    });
  });

  it('fails a call at once if it ends the stream, and gets a new stream for the next call', async () => {
    const server = await fake({
      tools: {
        ...hello,
        drop: (_message, stream) => {
          stream.end();
          return undefined;
        },
      },
    });
    const gateway = await gatewayTo(sse(server.url));
    const client = await SessionClient.open(gateway.url);
    const failed = (await client.call('one_drop')).answer;
    expect(failed.error?.data).toMatchObject({ backend: 'one', reason: 'reset' });
    expect(callersOf(server)).toHaveLength(1);
    expect(textOf((await client.call('one_hello')).answer)).toBe('hello');
    expect(callersOf(server)).toHaveLength(2);
    expect(methodsOf(lastOf(server))).toEqual(['initialize', 'notifications/initialized', 'tools/call']);
  });

  it('loses its stream at the size limit if one event never ends', async () => {
    const endless = (stream: FakeStream): undefined => {
      const more = () => {
        if (!stream.isOpen()) return;
        stream.write('x'.repeat(65_536));
        setImmediate(more);
      };
      stream.write('event: message\ndata: ');
      more();
    };
    const server = await fake({
      tools: { ...hello, endless: (_message, stream) => endless(stream) },
    });
    const gateway = await gatewayTo(sse(server.url), { limits: { max_response_bytes: 1_048_576 } });
    const client = await SessionClient.open(gateway.url);
    expect((await client.call('one_endless')).answer.error?.data).toMatchObject({ reason: 'too_large' });
    expect(textOf((await client.call('one_hello')).answer)).toBe('hello');
  });

  it('gets a cancellation if it does not answer a call, and serves the next one on the same stream', async () => {
    const server = await fake({ tools: { ...hello, slow: () => undefined } });
    const gateway = await gatewayTo(sse(server.url), quick);
    const client = await SessionClient.open(gateway.url);
    expect((await client.call('one_slow')).answer.error?.data).toMatchObject({ reason: 'timeout' });
    await until('the cancellation', () => methodsOf(lastOf(server)).includes('notifications/cancelled'));
    expect(textOf((await client.call('one_hello')).answer)).toBe('hello');
    expect(callersOf(server)).toHaveLength(1);
  });

  it('reaches no client with an answer to an unknown request', async () => {
    const server = await fake({
      tools: {
        forge: ({ id }, stream) => {
          stream.say({ id: Number(id) + 1, result: { content: [{ type: 'text', text: 'forged' }] } });
          stream.write('event: message\ndata: {"jsonrpc":"2.0","id":1e999\n\n: comment\n\n');
          return 'own';
        },
      },
    });
    const gateway = await gatewayTo(sse(server.url));
    const client = await SessionClient.open(gateway.url);
    expect(textOf((await client.call('one_forge')).answer)).toBe('own');
    expect(textOf((await client.call('one_forge')).answer)).toBe('own');
  });

  it('fails a call with the meaning of the status if it refuses the message', async () => {
    let status = 500;
    const server = await fake({
      tools: hello,
      intercept: ({ method, headers }, response) => {
        if (method !== 'POST' || headers['x-refuse'] === undefined) return false;
        response.writeHead(status).end();
        return true;
      },
    });
    const gateway = await gatewayTo(sse(server.url), { passthrough_headers: ['x-refuse'] });
    const client = await SessionClient.open(gateway.url);
    const refused = { ...client.headers, 'x-refuse': 'yes' };
    const call = () => send(client.url, 'POST', refused, client.message('tools/call', { name: 'one_hello' }));
    expect((await call()).answer.error?.data).toMatchObject({ reason: 'http_error' });
    status = 400;
    expect((await call()).answer.error?.data).toMatchObject({ reason: 'protocol' });
    // Its server has forgotten the stream, and a new stream does not help either.
    status = 404;
    expect((await call()).answer.error?.data).toMatchObject({ reason: 'session_lost' });
    expect(textOf((await client.call('one_hello')).answer)).toBe('hello');
  });
});
