import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { SessionClient, type OpenStream, type Rpc } from '../gateway/session-client.ts';
import { until } from '../gateway/until.ts';
import { closeAll, gatewayTo } from '../relay/gateway-to.ts';
import { serveModern, type ModernServer } from './modern-server.ts';

let server: ModernServer;
let url: string;

beforeAll(async () => {
  server = await serveModern();
  ({ url } = await gatewayTo(
    { modern: server.url },
    { aggregation: { conflict_resolution: 'prefix' }, operational: { timeouts: { default: '2s' } } },
  ));
}, 60_000);
afterAll(async () => {
  await closeAll();
  await server.close();
});

const updated = (uri: string) => (message: Rpc) =>
  message.method === 'notifications/resources/updated' && message.params?.uri === uri;
const countOf = (stream: OpenStream, matches: (message: Rpc) => boolean) => stream.messages().filter(matches).length;

/** Opens a session with its stream, and waits until the server listens to it. */
async function open() {
  const client = await SessionClient.open(url);
  const stream = await client.stream();
  streams.push(stream);
  await until('a listening server', () => {
    server.notify.toolsChanged();
    return stream.messages().some(({ method }) => method === 'notifications/tools/list_changed');
  });
  return { client, stream };
}

const streams: OpenStream[] = [];
afterEach(async () => {
  for (const stream of streams.splice(0)) stream.close();
  await until('no request at the server', () => server.open() === 0);
});

describe('the stream of a legacy session at a server of 2026-07-28', () => {
  it('reports changed lists', async () => {
    const { stream } = await open();
    server.notify.promptsChanged();
    await stream.waitFor(({ method }) => method === 'notifications/prompts/list_changed');
  });

  it('reports updates of subscribed resources, without metadata of the other revision', async () => {
    const { client, stream } = await open();
    for (const uri of ['sdk://one', 'sdk://two'])
      expect((await client.request('resources/subscribe', { uri })).answer.result).toEqual({});
    server.notify.resourceUpdated('sdk://one');
    expect((await stream.waitFor(updated('sdk://one'))).params).toEqual({ uri: 'sdk://one' });
    expect((await client.request('resources/unsubscribe', { uri: 'sdk://one' })).answer.result).toEqual({});
    server.notify.resourceUpdated('sdk://one');
    server.notify.resourceUpdated('sdk://two');
    await stream.waitFor(updated('sdk://two'));
    expect(countOf(stream, updated('sdk://one'))).toBe(1);
  });

  it('keeps its reports while subscriptions change', async () => {
    const { client, stream } = await open();
    await client.request('resources/subscribe', { uri: 'sdk://one' });
    let sent = 0;
    const timer = setInterval(() => {
      server.notify.resourceUpdated('sdk://one');
      sent++;
    }, 1);
    const asked = Array.from({ length: 20 }, (_, index) => ({ uri: `sdk://items/${index}` }));
    const answers = await Promise.all(asked.map((params) => client.request('resources/subscribe', params)));
    for (const { answer } of answers) expect(answer.result).toEqual({});
    clearInterval(timer);
    await until('all reports', () => countOf(stream, updated('sdk://one')) >= sent);
  });

  it('begins with the subscriptions from before it was opened', async () => {
    const client = await SessionClient.open(url);
    expect((await client.request('resources/subscribe', { uri: 'sdk://two' })).answer.result).toEqual({});
    const stream = await client.stream();
    streams.push(stream);
    await until('a report', () => {
      server.notify.resourceUpdated('sdk://two');
      return countOf(stream, updated('sdk://two')) > 0;
    });
  });

  it('ends at the server with the session', async () => {
    const { client, stream } = await open();
    expect(server.open()).toBe(1);
    await fetch(url, { method: 'DELETE', headers: client.headers });
    await until('no request at the server', () => server.open() === 0);
    await until('the end of the stream', () => !stream.isOpen());
  });

  it('goes on after a restart of the server', async () => {
    const { client, stream } = await open();
    await client.request('resources/subscribe', { uri: 'sdk://one' });
    const { port } = new URL(server.url);
    await server.close();
    server = await serveModern({ port: Number(port) });
    await until('a report', () => {
      server.notify.resourceUpdated('sdk://one');
      return countOf(stream, updated('sdk://one')) > 0;
    });
  });
});

describe('the stream of a legacy session after a restart of the server', () => {
  it('announces that lists and subscribed resources may have changed', async () => {
    const { client, stream } = await open();
    await client.request('resources/subscribe', { uri: 'sdk://one' });
    const { port } = new URL(server.url);
    await server.close();
    server = await serveModern({ port: Number(port) });
    await stream.waitFor(updated('sdk://one'));
    await stream.waitFor(({ method }) => method === 'notifications/prompts/list_changed');
  });
});

const REFUSED = { error: { code: -32602, message: 'no such resource' } };

describe('a subscription that the server refuses', () => {
  it('becomes an error, and the stream goes on', async () => {
    const { client, stream } = await open();
    await client.request('resources/subscribe', { uri: 'sdk://one' });
    server.answerNextListen((id) => Response.json({ jsonrpc: '2.0', id, ...REFUSED }));
    const refused = await client.request('resources/subscribe', { uri: 'sdk://two' });
    expect(refused.answer.error).toMatchObject({ code: -32602, data: { uri: 'sdk://two' } });
    server.notify.resourceUpdated('sdk://one');
    await stream.waitFor(updated('sdk://one'));
    // The refused one does not spoil the next.
    expect((await client.request('resources/subscribe', { uri: 'sdk://items/1' })).answer.result).toEqual({});
  });

  it('does not keep a new stream from its lists', async () => {
    const client = await SessionClient.open(url);
    await client.request('resources/subscribe', { uri: 'sdk://one' });
    server.answerNextListen((id) => Response.json({ jsonrpc: '2.0', id, ...REFUSED }));
    const stream = await client.stream();
    streams.push(stream);
    await until('a report', () => {
      server.notify.promptsChanged();
      return countOf(stream, ({ method }) => method === 'notifications/prompts/list_changed') > 0;
    });
  });

  it('fails in time if the server does not answer', async () => {
    const { client, stream } = await open();
    server.answerNextListen(
      () => new Response(new ReadableStream(), { headers: { 'content-type': 'text/event-stream' } }),
    );
    const { answer } = await client.request('resources/subscribe', { uri: 'sdk://one' });
    expect(answer.error?.message).toMatch(/in time/);
    server.notify.promptsChanged();
    await stream.waitFor(({ method }) => method === 'notifications/prompts/list_changed');
  });
});

/** Answers the next call with one event that comes with the head of its stream. */
function answerNextByEvent(result: object, end: boolean): void {
  server.answerNext((id) => {
    const data = JSON.stringify({ jsonrpc: '2.0', id, result: { resultType: 'complete', content: [], ...result } });
    const stream = new ReadableStream({
      start(controller) {
        controller.enqueue(new TextEncoder().encode(`data: ${data}\n\n`));
        if (end) controller.close();
      },
    });
    return new Response(stream, { headers: { 'content-type': 'text/event-stream' } });
  });
}

describe('an answer that comes with the head of its stream', () => {
  it('reaches the client as one document, without metadata of the other revision', async () => {
    const client = await SessionClient.open(url);
    await client.call('modern_echo', { text: 'x' });
    const own = { 'io.modelcontextprotocol/serverInfo': { name: 'x', version: '1' }, 'a.example/own': 2 };
    answerNextByEvent({ _meta: own }, true);
    const { headers, answer } = await client.call('modern_echo', { text: 'x' });
    expect(headers['content-type']).toBe('application/json');
    expect(answer.result).toEqual({ content: [], _meta: { 'a.example/own': 2 } });
  });

  it('ends a stream that the server keeps open', async () => {
    const client = await SessionClient.open(url);
    await client.call('modern_echo', { text: 'x' });
    answerNextByEvent({}, false);
    expect((await client.call('modern_echo', { text: 'x' })).answer.result).toEqual({ content: [] });
    await until('no request at the server', () => server.open() === 0);
  });
});
