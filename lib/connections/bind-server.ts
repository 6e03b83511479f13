import type { ListenOptions, Server } from 'node:net';

/** Error codes of a kernel without IPv6, and of one with IPv6 disabled. */
const WITHOUT_IPV6: readonly unknown[] = ['EAFNOSUPPORT', 'EADDRNOTAVAIL'];

/**
 * Binds a server; port 0 takes any free one. `::` is every address of this machine, of both families: of IPv4 alone where there is no
 * IPv6.
 * @returns the port as it is bound
 * @throws what Node says, with its `code`, when the port cannot be had
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
      // A connection that the kernel cannot hand over (ENOBUFS, EMFILE) is lost; those that are open go on.
      server.on('error', () => undefined);
      resolve();
    });
  });
}
