import { request as httpRequest } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, describe, expect, it } from '@jest/globals';
import { servePlain } from '../fakes/backend/serve-plain.ts';
import { serveGateway } from '../gateway/serve-gateway.ts';
import { send, SessionClient, modernRequest } from '../gateway/session-client.ts';
import { until } from '../gateway/until.ts';
import { closeAll, closing, configTo } from './gateway-to.ts';

afterEach(closeAll);

/** Starts a backend that does not answer list requests before `list` is called. */
async function serveUnlisted() {
  const { promise: listed, resolve } = Promise.withResolvers<undefined>();
  let isListed = false;
  const list = () => {
    isListed = true;
    resolve(undefined);
  };
  const backend = await servePlain({
    intercept: (_request, response, body) => {
      if (isListed || !body.includes('"tools/list"')) return false;
      void listed.then(() => {
        const { id } = JSON.parse(body) as { id: number };
        const tools = [{ name: 'tool_0', inputSchema: { type: 'object' } }];
        const text = JSON.stringify({ jsonrpc: '2.0', id, result: { tools } });
        response.writeHead(200, { 'content-type': 'application/json' }).end(text);
      });
      return true;
    },
  });
  closing({ close: () => (list(), backend.close()) });
  return { ...backend, list };
}

async function gatewayBefore(backends: Record<string, string>, policies?: string[]) {
  const more = policies === undefined ? {} : { authz: { policies } };
  const limits = { list_deadline: '1h', connect_timeout: '1h' };
  return closing(await serveGateway(configTo(backends, { limits, ...more }), { probed: false }));
}

describe('a call of a backend without a first list', () => {
  it.each(['2025-11-25', '2026-07-28'])(
    'does not reach the backend in %s if its client has disconnected',
    async (revision) => {
      const bad = await serveUnlisted();
      const gateway = await gatewayBefore({ bad: bad.url });
      const client = await SessionClient.open(gateway.url);
      await client.request('tools/list');
      const params = { name: 'bad_tool_0', arguments: { text: 'x' } };
      const { body, headers } =
        revision === '2026-07-28'
          ? modernRequest('tools/call', params)
          : { body: client.message('tools/call', params), headers: client.headers };
      const accept = 'application/json, text/event-stream';
      const left = httpRequest(gateway.url, {
        method: 'POST',
        headers: { 'content-type': 'application/json', accept, ...headers },
      });
      left.on('error', () => undefined);
      left.end(body);
      await sleep(300);
      left.destroy();
      await sleep(100);
      bad.list();
      await until('its tools', async () => (await client.toolNames()).includes('bad_tool_0'));
      expect((await client.call('bad_tool_0', { text: 'x' })).answer.result).toBeDefined();
      expect(bad.counts.get('tools/call')).toBe(1);
    },
  );

  it('does not wait for a backend that policies hide', async () => {
    const [good, bad] = [closing(await servePlain()), await serveUnlisted()];
    const policies = ['permit(principal, action, resource in Backend::"good");'];
    const gateway = await gatewayBefore({ good: good.url, bad: bad.url }, policies);
    const client = await SessionClient.open(gateway.url);
    expect(await client.toolNames()).toContain('good_tool_0');
    const params = { name: 'bad_tool_0', arguments: {} };
    const { body, headers } = modernRequest('tools/call', params);
    for (const call of [client.request('tools/call', params), send(gateway.url, 'POST', headers, body)])
      expect((await call).answer.error).toMatchObject({ code: -32602, message: 'Unknown tool' });
  });
});
