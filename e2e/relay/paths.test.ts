import { afterEach, describe, expect, it } from '@jest/globals';
import { servePlain } from '../fakes/backend/serve-plain.ts';
import { send, SessionClient } from '../gateway/session-client.ts';
import { closeAll, closing, gatewayTo } from './gateway-to.ts';

const RESOURCE = 'https://mcp.example.com/tenant/tools';
const LIST = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list' });

afterEach(closeAll);

describe('an endpoint whose resourceUrl has a separate path', () => {
  it('answers there and at /mcp, and at no other path', async () => {
    const backend = closing(await servePlain({ tools: 1 }));
    const { url } = await gatewayTo({ a: backend.url }, { resource_url: RESOURCE });
    const at = (path: string) => new URL(url).origin + path;
    for (const path of ['/tenant/tools', '/mcp'])
      expect(await (await SessionClient.open(at(path))).toolNames()).toEqual(['a_tool_0']);
    for (const path of ['/tenant', '/tenant/tools/', '/tenant/Tools', '//tenant/tools', '/tenant/tools/mcp'])
      expect((await send(at(path), 'POST', {}, LIST)).status).toBe(404);
  });

  it('asks for a token there, and names its metadata with that path inserted', async () => {
    const incoming = { type: 'oidc', issuer: 'https://idp.example' } as const;
    const { url } = await gatewayTo({}, { resource_url: RESOURCE, incoming });
    const { status, headers } = await send(new URL('/tenant/tools', url).href, 'POST', {}, LIST);
    expect(status).toBe(401);
    const metadata = 'https://mcp.example.com/.well-known/oauth-protected-resource/tenant/tools';
    expect(headers['www-authenticate']).toContain(`resource_metadata="${metadata}"`);
    const told = await send(new URL(new URL(metadata).pathname, url).href, 'GET', {});
    expect(JSON.parse(told.text)).toMatchObject({ resource: RESOURCE, authorization_servers: ['https://idp.example'] });
  });
});
