import { printClientLines } from '../client-lines.ts';
import type { Context } from '../context.ts';
import { EXIT_CODES } from '../exit-codes.ts';
import { withApi } from '../management/open-api.ts';
import { isCluster, type TargetOptions } from '../management/target.ts';
import { shownName } from '../summarise-status.ts';
import { waitForWorkloads } from '../workloads/wait-for-workloads.ts';
import { workloadsOf } from '../workloads/workload-list.ts';
import { waitUntilListed } from './wait-until-listed.ts';

/** Waits until the workload is served. @throws CliError with code 3 */
export async function tellEndpoint(
  name: string,
  options: TargetOptions & { timeout: number },
  context: Context,
  stop: AbortSignal,
): Promise<number> {
  if (isCluster(options)) return tellInCluster(name, options, context, stop);
  for (const server of await waitUntilListed(name, options.timeout, context, stop)) {
    const { endpoint, backends } = server;
    if (endpoint === null) continue;
    const tools = backends.find((backend) => backend.name === name)?.tools ?? 0;
    context.err.write(`${name} is running, with ${tools} ${tools === 1 ? 'tool' : 'tools'}\n`);
    context.out.write(`${shownName(server)}  ${endpoint}\n`);
    context.out.write(`${printClientLines(server.name, endpoint, context).join('\n')}\n`);
  }
  return EXIT_CODES.ok;
}

/** Only the cluster's Ingress or Gateway knows the external address. */
async function tellInCluster(
  name: string,
  options: TargetOptions & { timeout: number },
  context: Context,
  stop: AbortSignal,
): Promise<number> {
  await withApi(options, context, stop, async (api) => {
    const waiting = { names: [name], what: 'running', patience: options.timeout };
    await waitForWorkloads(api, { ...waiting, isDone: (one) => one?.status === 'running' }, context, stop);
    const found = (await workloadsOf(api, { all: true })).find((one) => one.name === name);
    context.out.write(`${name}  ${found?.url ?? 'is running'}\n`);
  });
  return EXIT_CODES.ok;
}
