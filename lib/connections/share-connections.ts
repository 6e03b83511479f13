import type { Server, Socket } from 'node:net';
import { addressBucket } from './address-bucket.ts';

/** How long the other side may take to shake hands by TLS; what bounds a request begins only after it. Milliseconds. */
export const HANDSHAKE_TIMEOUT = 5000;

/** Closes at once what one address opens beyond so many connections, so that it cannot hold all that the server takes. */
export function shareConnections(server: Server, each: number): void {
  const held = new Map<string, number>();
  server.on('connection', (socket: Socket) => {
    const address = addressBucket(socket.remoteAddress);
    const count = (held.get(address) ?? 0) + 1;
    if (count > each) {
      socket.destroy();
      return;
    }
    held.set(address, count);
    socket.once('close', () => {
      const left = (held.get(address) ?? 1) - 1;
      if (left > 0) held.set(address, left);
      else held.delete(address);
    });
  });
}
