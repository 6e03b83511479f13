import { afterEach, describe, expect, it } from '@jest/globals';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { serveEverything } from '../fakes/everything-server/serve.ts';
import { modernRequest, openStream, sendModern, type Rpc } from '../gateway/session-client.ts';
import { until } from '../gateway/until.ts';
import { closeAll, closing, gatewayTo } from '../relay/gateway-to.ts';
import { serveModern } from './modern-server.ts';
import { serveLegacy } from './serve-legacy.ts';

afterEach(closeAll);

const WATCHED = 'test://watched-resource';
const isMethod =
  (method: string) =>
  (message: Rpc): boolean =>
    message.method === method;

async function listen(url: string, notifications: Record<string, unknown>) {
  const { body, headers } = modernRequest('subscriptions/listen', { notifications });
  const stream = await openStream(url, headers, body);
  const acknowledged = await stream.waitFor(isMethod('notifications/subscriptions/acknowledged'));
  expect(stream.messages()[0]).toEqual(acknowledged);
  return { stream, acknowledged };
}

const trigger = (url: string, change: string) =>
  sendModern(url, 'tools/call', { name: `a_test_trigger_${change}`, arguments: { content: 'x' } });

describe('subscriptions/listen with a backend of older revisions', () => {
  it('reports changed resources and lists after the acknowledgement', async () => {
    const older = closing(await serveEverything({ era: 'legacy' }));
    const { url } = await gatewayTo({ a: older.url });
    const { stream, acknowledged } = await listen(url, { toolsListChanged: true, resourceSubscriptions: [WATCHED] });
    expect(acknowledged.params).toMatchObject({
      notifications: { toolsListChanged: true, resourceSubscriptions: [WATCHED] },
      _meta: { 'io.modelcontextprotocol/subscriptionId': 1 },
    });
    await trigger(url, 'resource_update');
    expect(await stream.waitFor(isMethod('notifications/resources/updated'))).toMatchObject({
      params: { uri: WATCHED, _meta: { 'io.modelcontextprotocol/subscriptionId': 1 } },
    });
    await trigger(url, 'tool_change');
    await stream.waitFor(isMethod('notifications/tools/list_changed'));
    stream.close();
  });

  it('keeps a subscription until its last listener leaves', async () => {
    const older = closing(await serveEverything({ era: 'legacy' }));
    const { url } = await gatewayTo({ a: older.url });
    const [first, second] = [
      await listen(url, { resourceSubscriptions: [WATCHED] }),
      await listen(url, { resourceSubscriptions: [WATCHED] }),
    ];
    first.stream.close();
    await trigger(url, 'resource_update');
    await second.stream.waitFor(isMethod('notifications/resources/updated'));
    second.stream.close();
    const third = await listen(url, { resourceSubscriptions: [WATCHED] });
    await trigger(url, 'resource_update');
    await third.stream.waitFor(isMethod('notifications/resources/updated'));
    third.stream.close();
  });

  it('merges it with a backend of 2026-07-28', async () => {
    const [older, newer] = [
      closing(await serveEverything({ era: 'legacy' })),
      closing(await serveEverything({ era: 'modern' })),
    ];
    const { url } = await gatewayTo({ a: older.url, b: newer.url });
    const { stream } = await listen(url, { toolsListChanged: true, promptsListChanged: true });
    await trigger(url, 'prompt_change');
    await stream.waitFor(isMethod('notifications/prompts/list_changed'));
    await sendModern(url, 'tools/call', { name: 'b_test_trigger_tool_change', arguments: {} });
    await stream.waitFor(isMethod('notifications/tools/list_changed'));
    stream.close();
  });

  it('continues after the backend was restarted', async () => {
    const older = await serveEverything({ era: 'legacy' });
    const { url } = await gatewayTo({ a: older.url });
    const { stream } = await listen(url, { resourceSubscriptions: [WATCHED] });
    await older.close();
    closing(await serveEverything({ era: 'legacy', port: Number(new URL(older.url).port) }));
    await until('an update', async () => {
      await trigger(url, 'resource_update');
      return stream.messages().some(isMethod('notifications/resources/updated'));
    });
    stream.close();
  }, 30_000);

  it('serves the SDK client with listChanged handlers, which waits for the acknowledgement', async () => {
    const older = closing(await serveEverything({ era: 'legacy' }));
    const { url } = await gatewayTo({ a: older.url });
    let changes = 0;
    const onChanged = () => {
      changes += 1;
    };
    const client = closing(
      new Client(
        { name: 'new', version: '1' },
        { versionNegotiation: { mode: 'auto' }, listChanged: { tools: { onChanged } } },
      ),
    );
    await client.connect(new StreamableHTTPClientTransport(new URL(url)));
    expect(client.getNegotiatedProtocolVersion()).toBe('2026-07-28');
    await trigger(url, 'tool_change');
    await until('the change', () => changes > 0);
  });
});

describe('subscriptions/listen after the stream of a backend ended', () => {
  it('announces that lists of a backend of older revisions may have changed', async () => {
    const older = closing(await serveLegacy({ tools: {} }));
    const { url } = await gatewayTo({ a: older.url });
    const { stream } = await listen(url, { toolsListChanged: true });
    for (const session of older.sessions.values()) session.stream?.destroy();
    await stream.waitFor(isMethod('notifications/tools/list_changed'));
    stream.close();
  });

  it('announces that lists and resources of a backend of 2026-07-28 may have changed', async () => {
    const newer = await serveModern();
    const { url } = await gatewayTo({ a: newer.url });
    const { stream } = await listen(url, { promptsListChanged: true, resourceSubscriptions: ['sdk://one'] });
    await newer.close();
    closing(await serveModern({ port: Number(new URL(newer.url).port) }));
    await stream.waitFor(isMethod('notifications/prompts/list_changed'));
    await stream.waitFor(isMethod('notifications/resources/updated'));
    stream.close();
  });
});
