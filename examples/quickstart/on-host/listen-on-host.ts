import { Server } from 'node:net';

type Listen = (...args: unknown[]) => Server;

/** Servers of this process that name no host listen on this one from now on. */
export function listenOnHost(host: string): void {
  // eslint-disable-next-line @typescript-eslint/unbound-method -- it is called on the server that listens
  const listen = Server.prototype.listen as Listen;
  Server.prototype.listen = function (this: Server, port: unknown, ...rest: unknown[]): Server {
    const namesOnlyItsPort = (typeof port === 'number' || typeof port === 'string') && typeof rest[0] !== 'string';
    return listen.call(this, port, ...(namesOnlyItsPort ? [host, ...rest] : rest));
  };
}
