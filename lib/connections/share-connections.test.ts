import { afterEach, describe, expect, it } from '@jest/globals';
import { once } from 'node:events';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { bindServer } from './bind-server.ts';
import { shareConnections } from './share-connections.ts';

const ends: (() => void)[] = [];
afterEach(() => {
  for (const end of ends.splice(0)) end();
});

async function serve(each: number): Promise<number> {
  const server: Server = createServer((socket) => {
    socket.on('error', () => undefined);
    setImmediate(() => socket.writable && socket.write('hello'));
  });
  shareConnections(server, each);
  ends.push(() => server.close());
  return bindServer(server, { host: '127.0.0.1', port: 0 });
}

/** Opens a connection, and returns it with its first event. */
async function open(port: number, localAddress: string): Promise<{ socket: Socket; became: string }> {
  const socket = connect({ port, host: '127.0.0.1', localAddress }).on('error', () => undefined);
  ends.push(() => socket.destroy());
  const became = await Promise.race([
    once(socket, 'data').then(() => 'served'),
    once(socket, 'close').then(() => 'closed'),
  ]);
  return { socket, became };
}

describe('shareConnections', () => {
  it('limits each address separately', async () => {
    const port = await serve(2);
    const first = await open(port, '127.0.0.2');
    expect(first.became).toBe('served');
    expect(await open(port, '127.0.0.2')).toMatchObject({ became: 'served' });
    expect(await open(port, '127.0.0.2')).toMatchObject({ became: 'closed' });
    expect(await open(port, '127.0.0.3')).toMatchObject({ became: 'served' });
  });

  it('counts neither closed nor rejected connections', async () => {
    const port = await serve(1);
    for (let round = 0; round < 3; round++) {
      // The server notices a closed connection a moment later.
      let held = await open(port, '127.0.0.2');
      while (held.became === 'closed') held = await open(port, '127.0.0.2');
      expect(await open(port, '127.0.0.2')).toMatchObject({ became: 'closed' });
      held.socket.destroy();
    }
  });
});
