import type { ServerResponse } from 'node:http';
import { afterEach, describe, expect, it } from '@jest/globals';
import { servePlain } from '../fakes/backend/serve-plain.ts';
import {
  openStream,
  sendModern,
  SessionClient,
  modernRequest,
  type OpenStream,
  type Rpc,
} from '../gateway/session-client.ts';
import { closeAll, closing, gatewayTo } from '../relay/gateway-to.ts';

afterEach(closeAll);

const UPDATED = 'notifications/resources/updated';
const CAPABILITIES = { tools: {}, resources: { subscribe: true } };

/** Starts a backend with one resource that clients may subscribe to, and a function that reports an update of any resource. */
async function serveResource(resource: string) {
  const streams = new Set<ServerResponse>();
  const subscribed: unknown[] = [];
  const results: Record<string, object> = {
    initialize: { protocolVersion: '2025-11-25', capabilities: CAPABILITIES, serverInfo: {} },
    'server/discover': {
      resultType: 'complete',
      supportedVersions: ['2026-07-28', '2025-11-25'],
      capabilities: CAPABILITIES,
    },
    'resources/list': { resultType: 'complete', resources: [{ uri: resource, name: 'one' }] },
    'resources/templates/list': { resultType: 'complete', resourceTemplates: [] },
    'resources/subscribe': {},
    'resources/unsubscribe': {},
  };
  const open = (response: ServerResponse) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders();
    streams.add(response);
    response.once('close', () => streams.delete(response));
  };
  const notify = (method: string, params: object) => {
    for (const stream of streams) stream.write(`data: ${JSON.stringify({ jsonrpc: '2.0', method, params })}\n\n`);
  };
  const served = closing(
    await servePlain({
      intercept: (request, response, body) => {
        if (request.method === 'GET') {
          open(response);
          return true;
        }
        const { id, method = '', params } = JSON.parse(body || '{}') as Rpc;
        if (method === 'subscriptions/listen') {
          open(response);
          notify('notifications/subscriptions/acknowledged', { notifications: params?.notifications });
          return true;
        }
        const result = results[method];
        if (!result) return false;
        if (method === 'resources/subscribe') subscribed.push(params?.uri);
        const headers = {
          'content-type': 'application/json',
          ...(method === 'initialize' && { 'mcp-session-id': 's' }),
        };
        response.writeHead(200, headers).end(JSON.stringify({ jsonrpc: '2.0', id, result }));
        return true;
      },
    }),
  );
  return {
    url: served.url,
    subscribed,
    streams,
    updated: (uri: string) => notify(UPDATED, { uri }),
  };
}

const updatesOf = (stream: OpenStream) =>
  stream.messages().flatMap(({ method, params }) => (method === UPDATED ? [params?.uri] : []));
const arrived = (stream: OpenStream, uri: string) => stream.waitFor(({ params }) => params?.uri === uri);

/** Resources whose update the lying backend reports. The last report shows that all earlier ones were handled. */
const CLAIMS = ['x://mine', 'x://never', 'y://onemore', 'y://one/part', 'y://one'];

describe('the notification of an updated resource', () => {
  it('arrives only from the backend that has the subscription: sessions', async () => {
    const [mine, liar] = [await serveResource('x://mine'), await serveResource('y://one')];
    const gateway = await gatewayTo({ mine: mine.url, liar: liar.url });
    const client = await SessionClient.open(gateway.url);
    const stream = await client.stream();
    for (const uri of ['x://mine', 'y://one'])
      expect((await client.request('resources/subscribe', { uri })).answer.result).toEqual({});
    for (let i = 0; i < 100 && liar.streams.size + mine.streams.size < 2; i++)
      await new Promise((r) => setTimeout(r, 20));
    for (const uri of CLAIMS) liar.updated(uri);
    await arrived(stream, 'y://one');
    expect(updatesOf(stream)).toEqual(['y://one/part', 'y://one']);
    mine.updated('x://mine');
    await arrived(stream, 'x://mine');
    await client.request('resources/unsubscribe', { uri: 'y://one' });
    liar.updated('y://one');
    mine.updated('x://mine/last');
    await arrived(stream, 'x://mine/last');
    expect(updatesOf(stream)).toEqual(['y://one/part', 'y://one', 'x://mine', 'x://mine/last']);
    stream.close();
  });

  it('arrives only from the backend that has the subscription: without sessions', async () => {
    const [mine, liar] = [await serveResource('x://mine'), await serveResource('y://one')];
    const gateway = await gatewayTo({ mine: mine.url, liar: liar.url });
    const { body, headers } = modernRequest('subscriptions/listen', {
      notifications: { resourceSubscriptions: ['x://mine', 'y://one'] },
    });
    const stream = await openStream(gateway.url, headers, body);
    await stream.waitFor(({ method }) => method?.endsWith('acknowledged') ?? false);
    for (const uri of CLAIMS) liar.updated(uri);
    await arrived(stream, 'y://one');
    expect(updatesOf(stream)).toEqual(['y://one/part', 'y://one']);
    mine.updated('x://mine');
    await arrived(stream, 'x://mine');
    stream.close();
  });
});

describe('the subscriptions of one session', () => {
  it('stop at a thousand, and existing ones may be renewed', async () => {
    const backend = await serveResource('x://mine');
    const gateway = await gatewayTo({ a: backend.url });
    const client = await SessionClient.open(gateway.url);
    for (let i = 0; i < 1_000; i++) await client.request('resources/subscribe', { uri: `x://${i}` });
    const refused = await client.request('resources/subscribe', { uri: 'x://more' });
    expect(refused.answer.error).toMatchObject({ code: -32602, message: expect.stringContaining('unsubscribe') });
    expect((await client.request('resources/subscribe', { uri: 'x://1' })).answer.result).toEqual({});
    expect(backend.subscribed).toHaveLength(1_001);
  });

  it('stop at a total length of their URIs', async () => {
    const backend = await serveResource('x://mine');
    const gateway = await gatewayTo({ a: backend.url });
    const client = await SessionClient.open(gateway.url);
    const subscribe = (uri: string) => client.request('resources/subscribe', { uri });
    // Sixteen URIs of 8,192 characters, the longest that a subscription needs no listed resource for.
    const longest = Array.from({ length: 16 }, (_, nr) => `x://${String(nr).padStart(8_188, 'u')}`);
    for (const uri of longest) expect((await subscribe(uri)).answer.result).toEqual({});
    expect((await subscribe('y')).answer.error).toMatchObject({
      code: -32602,
      message: expect.stringContaining('together'),
    });
    await client.request('resources/unsubscribe', { uri: longest[0] });
    expect((await subscribe('y')).answer.result).toEqual({});
    expect(backend.subscribed).toHaveLength(17);
  });

  it('reject a request that is too large to keep', async () => {
    const gateway = await gatewayTo({ a: (await serveResource('x://mine')).url });
    const uris = Array.from({ length: 100 }, (_, nr) => `x://${nr}/${'u'.repeat(2_700)}`);
    const { status, answer } = await sendModern(gateway.url, 'subscriptions/listen', {
      notifications: { resourceSubscriptions: uris },
    });
    expect({ status, code: answer.error?.code }).toEqual({ status: 400, code: -32602 });
  });
});

describe('logging/setLevel', () => {
  it('refuses an unknown level, and does not store it', async () => {
    const gateway = await gatewayTo({ a: (await serveResource('x://mine')).url });
    const client = await SessionClient.open(gateway.url);
    for (const level of ['loud', 'DEBUG', '', 'x'.repeat(1_000_000), 7]) {
      const { answer } = await client.request('logging/setLevel', { level });
      expect(answer.error).toMatchObject({ code: -32602, message: expect.stringContaining('emergency') });
    }
    const session = () => gateway.runtime.gateway.services.sessions.get(client.headers['mcp-session-id'] ?? '');
    expect(session()?.logLevel).toBeUndefined();
    expect((await client.request('logging/setLevel', { level: 'critical' })).answer.result).toEqual({});
    expect(session()?.logLevel).toBe('critical');
  });
});
