import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, describe, expect, it } from '@jest/globals';
import { ANONYMOUS } from '#runtime/incoming/build-identity';
import { encodeEventId } from '#runtime/mcp/sse/event-id';
import { serve } from '#runtime/serve';
import { servePlain } from '../fakes/backend/serve-plain.ts';
import type { ServedGateway } from '../gateway/serve-gateway.ts';
import { openStream, SessionClient, statelessRequest } from '../gateway/session-client.ts';
import { closeAll, closing, gatewayTo } from './gateway-to.ts';

afterEach(closeAll);

const until = async (holds: () => boolean): Promise<void> => {
  for (let tries = 0; tries < 300 && !holds(); tries++) await sleep(10);
  expect(holds()).toBe(true);
};

/** The gateway's endpoint once more, where who calls is known only when the caller has left. */
async function serveSlowly(gateway: ServedGateway) {
  let settled = 0;
  const server = createServer((req, res: ServerResponse) => {
    const left = new Promise<void>((resolve) => res.once('close', () => setImmediate(resolve)));
    const authenticator = {
      ...gateway.runtime.gateway.rooms.authenticator,
      authenticate: () => left.then(() => ANONYMOUS),
    };
    // Another port than the one that the gateway knows as its own.
    const hostOrigin = { ...gateway.runtime.gateway.rooms.hostOrigin, check: () => undefined };
    void serve(req, res, { ...gateway.runtime.gateway.rooms, authenticator, hostOrigin }).finally(() => settled++);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`;
  closing({ close: () => new Promise((resolve) => server.close(resolve)) });
  const { running } = gateway.runtime.gateway.rooms;
  return {
    /** Sends a request and leaves while the caller is looked up. */
    async leave(headers: Record<string, string>, body?: string) {
      const before = settled;
      const abort = new AbortController();
      const sent = fetch(url, {
        method: body === undefined ? 'GET' : 'POST',
        headers: { accept: 'application/json, text/event-stream', 'content-type': 'application/json', ...headers },
        signal: abort.signal,
        ...(body === undefined ? {} : { body }),
      }).catch(() => undefined);
      await until(() => running.size > 0);
      await sleep(20);
      abort.abort();
      await sent;
      await until(() => settled > before && running.size === 0);
    },
  };
}

describe('a client that leaves while it is authenticated', () => {
  it('leaves no stream in its session', async () => {
    const backend = closing(await servePlain({ tools: 1 }));
    const gateway = await gatewayTo({ a: backend.url });
    const client = await SessionClient.open(gateway.url);
    await (await serveSlowly(gateway)).leave(client.headers);
    const { sessions } = gateway.runtime.gateway.rooms;
    expect(sessions.find(client.headers['mcp-session-id'] ?? '', ANONYMOUS.key)?.stream).toBeUndefined();
  });

  it('takes no place of the streams that are resumed or listened to', async () => {
    const backend = closing(
      await servePlain({
        tools: 1,
        intercept: (request, response) => {
          if (!request.headers['last-event-id']) return false;
          response.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders();
          return true;
        },
      }),
    );
    const gateway = await gatewayTo({ a: backend.url }, { limits: { sessions_per_principal: 1 } });
    const client = await SessionClient.open(gateway.url);
    const headers: Record<string, string> = {
      ...client.headers,
      'last-event-id': encodeEventId({ backend: 'a', stream: 'call', original: '1' }) ?? '',
    };
    const slow = await serveSlowly(gateway);
    await slow.leave(headers);
    const resumed = await openStream(gateway.url, headers);
    expect(resumed.status).toBe(200);
    resumed.close();
    await until(() => gateway.runtime.gateway.rooms.running.size === 0);
    const listen = statelessRequest('subscriptions/listen', { notifications: { toolsListChanged: true } });
    const again = await openStream(gateway.url, listen.headers, listen.body);
    expect(again.status).toBe(200);
    again.close();
  });
});
