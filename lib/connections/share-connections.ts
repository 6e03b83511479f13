import type { Server, Socket } from 'node:net';
import { addressBucket } from './address-bucket.ts';

/** Milliseconds for a TLS handshake. The limits of a request begin only after it. */
export const HANDSHAKE_TIMEOUT = 5000;

/** Closes new connections of an address that holds `each` already, so that one address cannot use up the server's connections. */
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
