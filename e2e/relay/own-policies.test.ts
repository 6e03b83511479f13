import { afterEach, describe, expect, it } from '@jest/globals';
import { servePlain } from '../fakes/backend/serve-plain.ts';
import { send, SessionClient } from '../gateway/session-client.ts';
import { serveGateway } from '../gateway/serve-gateway.ts';

const open: { close(): Promise<void> | void }[] = [];

afterEach(async () => {
  for (const one of open.splice(0).reverse()) await one.close();
});

const permitAll = 'permit(principal, action, resource);';
const only = (name: string) => `permit(principal, action, resource == Tool::"${name}");`;

describe("a backend's own policies and the server's", () => {
  it.each([
    ['the server permits one, the backend all', [only('a_tool_0')], [permitAll], ['a_tool_0']],
    ['the server permits all, the backend one', [permitAll], [only('a_tool_1')], ['a_tool_1']],
    ['each permits another', [only('a_tool_0')], [only('a_tool_1')], []],
  ])('must both allow: %s', async (_case, server, own, visible) => {
    const backend = await servePlain({ tools: 2 });
    open.push(backend);
    const gateway = await serveGateway({
      incoming: { type: 'anonymous' },
      authz: { policies: server },
      backends: [{ name: 'a', transport: 'streamable-http', url: backend.url, authz: { policies: own } }],
    });
    open.push(gateway);
    const client = await SessionClient.open(gateway.url);
    expect(await client.toolNames()).toEqual(visible);
    for (const name of ['a_tool_0', 'a_tool_1']) {
      const { answer } = await client.call(name, { text: 'x' });
      expect(answer.result !== undefined).toBe(visible.includes(name));
    }
  });
});

describe('passthrough_headers', () => {
  it("pass on what they name, and never the caller's credential", async () => {
    const seen: Record<string, unknown>[] = [];
    const backend = await servePlain({
      tools: 1,
      intercept: (request, _response, body) => {
        if (body.includes('tools/call')) seen.push(request.headers);
        return false;
      },
    });
    open.push(backend);
    const gateway = await serveGateway({
      incoming: { type: 'anonymous' },
      backends: [{ name: 'a', transport: 'streamable-http', url: backend.url }],
      passthrough_headers: ['X-Tenant', 'Authorization'],
    });
    open.push(gateway);
    const client = await SessionClient.open(gateway.url);
    const headers = { ...client.headers, 'x-tenant': 'blue', 'x-other': 'no', authorization: 'Bearer of-the-caller' };
    await send(
      gateway.url,
      'POST',
      headers,
      client.message('tools/call', { name: 'a_tool_0', arguments: { text: 'x' } }),
    );
    expect(seen).toHaveLength(1);
    expect(seen[0]).toMatchObject({ 'x-tenant': 'blue' });
    expect(seen[0]).not.toHaveProperty('x-other');
    expect(seen[0]).not.toHaveProperty('authorization');
  });
});
