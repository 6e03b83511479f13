// For `node --import`: a server that names no host listens where HOST says: on loopback alone on this machine, everywhere in a
// pod. server-everything has no setting for that, and node would let it listen on all interfaces.
import { Server } from 'node:net';

type Listen = (...args: unknown[]) => Server;

// eslint-disable-next-line no-restricted-properties -- it belongs to a program whose only setting this is
const host = process.env.HOST ?? '127.0.0.1';
// eslint-disable-next-line @typescript-eslint/unbound-method -- it is called on the server that listens
const listen = Server.prototype.listen as Listen;

Server.prototype.listen = function (this: Server, port: unknown, ...rest: unknown[]): Server {
  const namesOnlyItsPort = (typeof port === 'number' || typeof port === 'string') && typeof rest[0] !== 'string';
  return listen.call(this, port, ...(namesOnlyItsPort ? [host, ...rest] : rest));
};
