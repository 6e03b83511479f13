import { once } from 'node:events';
import { createServer, request, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, it } from '@jest/globals';
import { readBody } from './read-body.ts';

/** Sends the beginning of a body that never ends. `read` gets the request as the server sees it. */
async function readPartOf(read: (req: IncomingMessage, leave: () => void) => Promise<unknown>): Promise<unknown> {
  const server = createServer();
  const received = once(server, 'request') as Promise<[IncomingMessage]>;
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const asked = request({ port, host: '127.0.0.1', method: 'POST', headers: { 'content-length': 100 } });
  asked.on('error', () => undefined);
  asked.write('{"jsonrpc"');
  try {
    const [req] = await received;
    return await read(req, () => asked.destroy());
  } finally {
    asked.destroy();
    server.closeAllConnections();
    server.close();
  }
}

const INCOMPLETE = { answer: { status: 400, code: 'body_incomplete' } };

describe('readBody', () => {
  it('rejects if the client disconnected before the reading began', async () => {
    await readPartOf(async (req, leave) => {
      req.on('error', () => undefined);
      const left = new Promise((resolve) => req.on('close', resolve));
      leave();
      await left;
      await expect(readBody(req, 1_000)).rejects.toMatchObject(INCOMPLETE);
    });
  });

  it('rejects if the client disconnects during the reading', async () => {
    await readPartOf(async (req, leave) => {
      const body = readBody(req, 1_000);
      leave();
      await expect(body).rejects.toMatchObject(INCOMPLETE);
    });
  });
});
