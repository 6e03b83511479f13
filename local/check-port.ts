import { createConnection, createServer } from 'node:net';

export function isPortFree(host: string, port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen({ host, port, exclusive: true }, () => server.close(() => resolve(true)));
  });
}

/** Checks the loopback interface. */
export function isListening(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = createConnection({ host: '127.0.0.1', port, timeout: 500 });
    const end = (answer: boolean) => () => {
      socket.destroy();
      resolve(answer);
    };
    socket.once('connect', end(true));
    socket.once('error', end(false));
    socket.once('timeout', end(false));
  });
}

export async function findBusyPorts(ports: number[]): Promise<Set<number>> {
  const free = await Promise.all(ports.map((port) => isPortFree('127.0.0.1', port)));
  return new Set(ports.filter((_, index) => !free[index]));
}
