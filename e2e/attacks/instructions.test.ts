import { createMcpHandler, McpServer } from '@modelcontextprotocol/server';
import { afterEach, describe, expect, it } from '@jest/globals';
import { z } from 'zod';
import { serveWebHandler } from '../fakes/http/serve-web-handler.ts';
import { serveTokens } from '../fakes/token-service.ts';
import { sendModern, SessionClient } from '../gateway/session-client.ts';
import { closeAll, closing } from '../relay/gateway-to.ts';
import { protectedGateway } from './protected-gateway.ts';

afterEach(closeAll);

/** Starts an SDK server with these instructions. Returns its URL. */
async function serveInstructions(instructions: string): Promise<string> {
  const handler = createMcpHandler(() => {
    const server = new McpServer({ name: 'sdk', version: '1' }, { instructions });
    server.registerTool('hello', { inputSchema: z.object({}) }, () => ({ content: [{ type: 'text', text: 'hello' }] }));
    return server;
  });
  const { port } = closing(await serveWebHandler((request) => handler.fetch(request), 0));
  return `http://127.0.0.1:${port}/mcp`;
}

describe('backend instructions', () => {
  it('reach only one caller if the backend sees callers, and all callers otherwise', async () => {
    const { url: token_url } = closing(await serveTokens());
    const auth = {
      type: 'token_exchange' as const,
      ...{ token_url, client_id: 'vmcp', client_secret_file: 'secret', audience: 'own' },
    };
    const at = await protectedGateway({
      files: { secret: 'cl1ent-s3cret' },
      config: {
        backends: [
          { name: 'own', transport: 'streamable-http', url: await serveInstructions('For alice only'), auth },
          { name: 'all', transport: 'streamable-http', url: await serveInstructions('For everybody') },
        ],
      },
    });
    const alice = await SessionClient.open(at.gateway.url, await at.bearer());
    expect((await alice.call('own_hello', {})).answer.result).toBeDefined();
    const bearer = await at.bearer({ sub: 'bob' });
    const bob = await SessionClient.open(at.gateway.url, bearer);
    expect(bob.initialized.result?.instructions).toBe('For everybody');
    const discovered = await sendModern(at.gateway.url, 'server/discover', {}, bearer);
    expect(discovered.answer.result?.instructions).toBe('For everybody');
  });
});
