import { servePlain } from '../fakes/backend/serve-plain.ts';
import type { Rpc } from '../gateway/session-client.ts';
import { closing } from './gateway-to.ts';

/** Starts a backend that answers calls after `finish`. `called` settles when a call has arrived. */
export async function serveHeld() {
  const held: (() => void)[] = [];
  const { promise: called, resolve: arrived } = Promise.withResolvers<undefined>();
  const backend = closing(
    await servePlain({
      tools: 1,
      intercept: (_request, response, body) => {
        const { id, method } = JSON.parse(body || '{}') as Rpc;
        if (method !== 'tools/call') return false;
        const answer = JSON.stringify({ jsonrpc: '2.0', id, result: { content: [] } });
        held.push(() => response.writeHead(200, { 'content-type': 'application/json' }).end(answer));
        arrived(undefined);
        return true;
      },
    }),
  );
  const finish = (): void => held.splice(0).forEach((answer) => answer());
  return { url: backend.url, called, finish };
}
