import type { Context } from './context.ts';
import { CliError, EXIT_CODES } from './exit-codes.ts';
import { findBoard } from './find-board.ts';
import { kubectlFor } from './management/kubectl-for.ts';
import { isCluster, type PlaceOptions } from './management/target.ts';
import { chooseServer } from './status.ts';
import { type ServerSummary, shownName } from './summarise-board.ts';

/** Names that only pods can look up. */
const INSIDE = /^([^.]+)\.([^.]+)\.svc(\.|$)/;

/** Whether pods of a cluster alone reach a URL. */
export const isInside = (url: string): boolean => INSIDE.test(URL.parse(url)?.hostname ?? '');

/** What was typed as a URL. @throws CliError where it is none */
export function checkUrl(url: string): string {
  if (URL.canParse(url) && /^https?:$/.test(new URL(url).protocol)) return url;
  throw new CliError(EXIT_CODES.usage, `"${url}" is no URL: write for example https://mcp.example.com/mcp`);
}

/** Where clients of this machine reach an endpoint. @throws CliError where it has no URL yet, or one for pods alone */
export function urlOf(server: ServerSummary, options: PlaceOptions, { typed }: Context): string {
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

/** Which endpoint is meant, where no URL is typed. */
export interface EndpointOptions extends PlaceOptions {
  /** Name of a VirtualMCPServer; default the first. */
  server?: string;
}

/** The URL of an endpoint as it was typed, or of one of the cluster that is named, or that runs here. @throws CliError */
export async function chooseUrl(
  typed: string | undefined,
  options: EndpointOptions,
  context: Context,
): Promise<string> {
  const { server } = options;
  if (typed === undefined) return urlOf(chooseServer(await findBoard(options, context), server), options, context);
  if (server !== undefined || isCluster(options))
    throw new CliError(EXIT_CODES.usage, 'name an endpoint by its URL, or by --server and --context, and not by both');
  return checkUrl(typed);
}
