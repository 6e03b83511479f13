import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { readLock } from '#local/lock';
import { readIfThere } from '#lib/files/write-file';
import { shownPath } from '../check-folder.ts';
import { printClientLines } from '../client-lines.ts';
import type { Context } from '../context.ts';
import { EXIT_CODES } from '../exit-codes.ts';
import { withApi } from '../management/open-api.ts';
import { isCluster, type TargetOptions, USUAL_FOLDER } from '../management/target.ts';
import { usualProvider } from '../secrets/secrets-provider.ts';
import { shownName } from '../summarise-status.ts';
import { upDetached } from '../up-detached.ts';
import { waitForWorkloads } from '../workloads/wait-for-workloads.ts';
import { workloadsOf } from '../workloads/workload-list.ts';
import { type Added, addWorkload, USUAL_GROUP, type Wish } from './add-workload.ts';
import { addEndpoint, makeFolder } from './make-folder.ts';
import { readPlain, readSecrets } from './read-assignments.ts';
import { waitUntilListed } from './wait-until-listed.ts';

export interface RunOptions extends TargetOptions, Pick<Wish, 'name' | 'group' | 'transport' | 'port'> {
  env: string[];
  secret: string[];
  header: string[];
  headerSecret: string[];
  /** Milliseconds. */
  timeout: number;
}

/** Uses the local server, a cluster, or a folder, which it creates if needed. A refusal leaves nothing behind. @throws CliError */
export async function run(
  source: string,
  args: readonly string[],
  options: RunOptions,
  context: Context,
  stop: AbortSignal,
): Promise<number> {
  const wish = await wishOf(source, args, options, context);
  const running = readLock(context.state)?.folder;
  if (isCluster(options) || running !== undefined) {
    const added = await withApi(options, context, stop, (api) => addWorkload(api, wish, context));
    offer(added, isCluster(options) ? undefined : running, options, context);
    return tellEndpoint(added.name, options, context, stop);
  }
  const folder = folderOf(options, context);
  const unmake = makeFolder(folder, options.group ?? USUAL_GROUP);
  let name: string;
  try {
    const added = await withApi({ ...options, folder }, context, stop, (api) => addWorkload(api, wish, context));
    offer(added, folder, options, context);
    name = added.name;
    context.err.write(`${name} is in ${shownPath(folder)}; starting it\n`);
  } catch (problem) {
    unmake?.();
    throw problem;
  }
  const [since, startedAt] = [performance.now(), Date.now()];
  return upDetached(folder, options.timeout, context, stop, () =>
    waitUntilListed(name, options.timeout - (performance.now() - since), context, stop, { startedAt }),
  );
}

/** In a cluster, the user has to define how clients connect. */
function offer(
  { group }: Added,
  folder: string | undefined,
  { namespace = 'default' }: TargetOptions,
  { err }: Context,
): void {
  if (!group.isNew) return;
  const file = folder === undefined ? undefined : addEndpoint(folder, group.name, namespace);
  const none = `group ${group.name} is new: no endpoint offers it until a VirtualMCPServer has config.groupRef: ${group.name}`;
  err.write(`${file === undefined ? none : `group ${group.name} is new, and gets an endpoint: ${shownPath(file)}`}\n`);
}

async function wishOf(source: string, args: readonly string[], options: RunOptions, context: Context): Promise<Wish> {
  const { env, secret, header, headerSecret, ...rest } = options;
  return {
    ...rest,
    source,
    args,
    variables: {
      plain: readPlain(env, '--env', context.environment),
      secrets: await readSecrets(secret, '--secret', context),
    },
    headers: {
      plain: readPlain(header, '--header'),
      secrets: await readSecrets(headerSecret, '--header-secret', context),
    },
    provider: usualProvider(options),
    inCluster: isCluster(options),
  };
}

/** Prefers the named folder, then the last one, then the default. */
function folderOf({ folder }: TargetOptions, { state }: Context): string {
  const last = readIfThere(state.lastFolder);
  return resolve(folder ?? (last !== undefined && existsSync(last) ? last : USUAL_FOLDER));
}

/** Waits until the workload is served. @throws CliError with code 3 */
async function tellEndpoint(
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
