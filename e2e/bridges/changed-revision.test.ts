import { afterAll, afterEach, describe, expect, it } from '@jest/globals';
import { serveEverything, type EverythingServer } from '../fakes/everything-server/serve.ts';
import { sendModern, SessionClient } from '../gateway/session-client.ts';
import { closeAll, closing, gatewayTo } from '../relay/gateway-to.ts';
import { serveLegacy } from './serve-legacy.ts';

let server: EverythingServer;
afterEach(closeAll);
afterAll(() => server.close());

/** Another version of the server, at the same URL. */
async function replace(era: 'legacy' | 'modern'): Promise<void> {
  const port = Number(new URL(server.url).port);
  await server.close();
  server = await serveEverything({ era, port });
}

describe.each([
  ['legacy', 'modern'],
  ['modern', 'legacy'],
] as const)('a backend that speaks the %s revisions, and after an update the %s ones', (before, after) => {
  it('serves the next call of each client without an error', async () => {
    server = await serveEverything({ era: before });
    const { url } = await gatewayTo({ a: server.url });
    const session = await SessionClient.open(url);
    const call = { name: 'a_test_simple_text', arguments: {} };
    const callBoth = async () => [
      (await session.call(call.name, {})).answer,
      (await sendModern(url, 'tools/call', call)).answer,
    ];
    const served = [{ result: { content: [{}] } }, { result: { content: [{}], resultType: 'complete' } }];
    expect(await callBoth()).toMatchObject(served);
    await replace(after);
    expect(await callBoth()).toMatchObject(served);
    expect(await callBoth()).toMatchObject(served);
    await server.close();
  });

  it('serves a client of 2026-07-28 first', async () => {
    server = await serveEverything({ era: before });
    const { url } = await gatewayTo({ a: server.url });
    const call = async () =>
      (await sendModern(url, 'tools/call', { name: 'a_test_simple_text', arguments: {} })).answer.result;
    expect(await call()).toMatchObject({ content: [{}] });
    await replace(after);
    expect(await call()).toMatchObject({ content: [{}] });
    await server.close();
  });

  it('serves the first call of a session that began before the update', async () => {
    server = await serveEverything({ era: before });
    const { url } = await gatewayTo({ a: server.url });
    const listed = await SessionClient.open(url);
    await listed.toolNames();
    const session = await SessionClient.open(url);
    await replace(after);
    expect((await session.call('a_test_simple_text', {})).answer.result).toMatchObject({ content: [{}] });
    await server.close();
  });
});

describe('a backend that refuses calls with 400', () => {
  it('causes one probe in some seconds, and not one for each call', async () => {
    const backend = closing(
      await serveLegacy({
        tools: {
          bad({ response }) {
            response.writeHead(400).end();
            return undefined;
          },
        },
      }),
    );
    const { url } = await gatewayTo({ a: backend.url });
    const session = await SessionClient.open(url);
    const refused = { error: { code: -32603 } };
    const call = async () => [
      (await session.call('a_bad', {})).answer,
      (await sendModern(url, 'tools/call', { name: 'a_bad', arguments: {} })).answer,
    ];
    await call();
    const before = backend.count('server/discover');
    for (let calls = 0; calls < 5; calls += 1) expect(await call()).toMatchObject([refused, refused]);
    await Promise.all(Array.from({ length: 10 }, call));
    expect(backend.count('server/discover')).toBe(before);
  });
});
