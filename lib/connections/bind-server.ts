import type { ListenOptions, Server } from 'node:net';

/** Error codes of a kernel without IPv6, and of one with IPv6 disabled. */
const WITHOUT_IPV6: readonly unknown[] = ['EAFNOSUPPORT', 'EADDRNOTAVAIL'];

/**
 * Binds a server and returns its port. Port 0 selects a free port. `::` means all addresses of both families, or of IPv4 alone without
 * IPv6. @throws Node's error with its `code` if the port cannot be bound
 */
export async function bindServer(server: Server, { host, ...rest }: ListenOptions): Promise<number> {
  try {
    await bind(server, { host, ...rest });
  } catch (problem) {
    if (host !== '::' || !(problem instanceof Error && 'code' in problem && WITHOUT_IPV6.includes(problem.code))) {
      throw problem;
    }
    await bind(server, { host: '0.0.0.0', ...rest });
  }
  const address = server.address();
  return typeof address === 'object' && address !== null ? address.port : (rest.port ?? 0);
}

function bind(server: Server, options: ListenOptions): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(options, () => {
      server.off('error', reject);
      // A connection that the kernel cannot hand over (ENOBUFS, EMFILE) is lost; open connections stay.
      server.on('error', () => undefined);
      resolve();
    });
  });
}
