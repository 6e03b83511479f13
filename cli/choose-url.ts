import type { Context } from './context.ts';
import { CliError, EXIT_CODES } from './exit-codes.ts';
import { findLocalStatus } from './find-local-status.ts';
import { isCluster, kubectlFor, type ServerOptions } from './management/target.ts';
import { chooseServer } from './status.ts';
import { type ServerSummary, shownName } from './summarise-status.ts';

/** Only pods can resolve these host names. */
const INSIDE = /^([^.]+)\.([^.]+)\.svc(\.|$)/;

export const isInside = (url: string): boolean => INSIDE.test(URL.parse(url)?.hostname ?? '');

/** @throws CliError */
export function checkUrl(url: string): string {
  if (URL.canParse(url) && /^https?:$/.test(new URL(url).protocol)) return url;
  throw new CliError(EXIT_CODES.usage, `"${url}" is no URL: write for example https://mcp.example.com/mcp`);
}

/** @throws CliError when the endpoint has no URL yet, or one that only pods reach */
export function urlOf(server: ServerSummary, options: ServerOptions, { typed }: Context): string {
  const { kind, name, endpoint } = server;
  const shown = kind === 'MCPServer' ? shownName(server) : `VirtualMCPServer "${name}"`;
  if (endpoint === null)
    throw new CliError(EXIT_CODES.notRunning, `${shown} has no endpoint yet: see "${typed('status')}"`);
  const url = new URL(endpoint);
  const [, service, namespace] = INSIDE.exec(url.hostname) ?? [];
  if (!isCluster(options) || service === undefined || namespace === undefined) return endpoint;
  const kubectl = kubectlFor(options, namespace);
  const forwarded = `${url.protocol}//127.0.0.1:${url.port}${url.pathname}`;
  const way = `run "${kubectl} port-forward service/${service} ${url.port}" beside this, and name ${forwarded}`;
  throw new CliError(
    EXIT_CODES.input,
    `${shown} is at ${endpoint}, which only pods of the cluster can reach: write the URL that clients use as incomingAuth.resourceUrl, or ${way}`,
  );
}

export interface EndpointOptions extends ServerOptions {
  /** Name of a VirtualMCPServer; default: the first one. */
  server?: string;
}

/** An endpoint, and its status if it is one of this machine or of the named cluster. */
export interface ChosenEndpoint {
  readonly url: string;
  readonly server: ServerSummary | undefined;
}

/** Prefers the given URL. @throws CliError */
export async function chooseEndpoint(
  typed: string | undefined,
  options: EndpointOptions,
  context: Context,
): Promise<ChosenEndpoint> {
  if (typed === undefined) {
    const server = chooseServer(await findLocalStatus(options, context), options.server);
    return { url: urlOf(server, options, context), server };
  }
  if (options.server !== undefined || isCluster(options))
    throw new CliError(EXIT_CODES.usage, 'name an endpoint by its URL, or by --server and --context, and not by both');
  return { url: checkUrl(typed), server: undefined };
}
