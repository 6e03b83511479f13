import { afterEach, expect, it } from '@jest/globals';
import { servePlain } from '../fakes/backend/serve-plain.ts';
import { SessionClient, type Rpc } from '../gateway/session-client.ts';
import { closeAll, closing, gatewayTo } from '../relay/gateway-to.ts';

afterEach(closeAll);

/** Starts a backend with these resource templates and no resources. */
async function serveTemplates(templates: readonly string[]): Promise<string> {
  const resourceTemplates = templates.map((uriTemplate, at) => ({ uriTemplate, name: `t${at}` }));
  const results: Record<string, object> = {
    initialize: { protocolVersion: '2025-11-25', capabilities: { resources: {} }, serverInfo: {} },
    'resources/list': { resources: [] },
    'resources/templates/list': { resourceTemplates },
    'resources/read': { contents: [] },
  };
  const served = await servePlain({
    intercept: (request, response, body) => {
      const { id, method = '' } = JSON.parse(body || '{}') as Rpc;
      const result = results[method];
      if (request.method !== 'POST' || !result) return false;
      response.writeHead(200, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ jsonrpc: '2.0', id, result }));
      return true;
    },
  });
  return closing(served).url;
}

it("resources/read answers although a backend's templates match in a great many ways", async () => {
  const evil = ['{+a}{+b}{+c}{+d}{+e}{+f}{+g}{+h}!', 'x://{a}{b}{c}{d}!', '{a}-{b}-{c}-{d}!'];
  const backends = { evil: await serveTemplates(evil), honest: await serveTemplates(['note://{id}']) };
  const client = await SessionClient.open((await gatewayTo(backends)).url);
  const long = `x://${'a-'.repeat(1_000)}`;
  expect((await client.request('resources/read', { uri: long })).answer.error?.code).toBe(-32002);
  expect((await client.request('resources/read', { uri: 'note://1' })).answer.result).toEqual({ contents: [] });
});
