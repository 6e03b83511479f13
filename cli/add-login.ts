import { setTimeout as sleep } from 'node:timers/promises';
import { contextOf, type Parts, type StateOptions, stateOption, timeoutOption } from './command-parts.ts';
import type { Context } from './context.ts';
import { CliError, EXIT_CODES } from './exit-codes.ts';
import { openBrowser } from './oauth/open-browser.ts';
import { runningStatus } from './find-local-status.ts';
import { serversOf, type ServerSummary } from './summarise-status.ts';

const HELP = `For MCPServers with remoteAuth: you log in once, and every caller of the server uses this login.
vmcp status lists the servers that wait for a login.`;

export function addLogin({ program, deps, stop, finish }: Parts): void {
  program
    .command('login')
    .description('log in at a remote server, for all who call it')
    .argument('[backend]', 'name of an MCPServer; default the only one that waits for a login')
    .option('--no-browser', 'only print the URL')
    .addOption(timeoutOption('how long the login may take', '5m'))
    .addOption(stateOption())
    .addHelpText('after', `\n${HELP}`)
    .examples('vmcp login', 'vmcp login tickets --no-browser')
    .action(async (backend: string | undefined, options: StateOptions & LoginOptions) =>
      finish(await login(backend, options, contextOf(deps, options), stop)),
    );
}

interface LoginOptions {
  /** False prints the URL only. */
  browser: boolean;
  /** Milliseconds. */
  timeout: number;
}

const LOOK_EVERY = 300;

type Backend = ServerSummary['backends'][number];

/** Returns each backend once: endpoints that share a backend share its login. */
function backendsOf(context: Context): Map<string, Backend> {
  const all = serversOf(runningStatus(context)).flatMap(({ backends }) => backends);
  const found = new Map<string, Backend>();
  for (const backend of all)
    if (backend.loginUrl !== null || !found.has(backend.name)) found.set(backend.name, backend);
  return found;
}

/** Without a name, chooses the only backend that waits for a login. */
function choose(name: string | undefined, context: Context): Backend | undefined {
  const backends = backendsOf(context);
  const waiting = [...backends.values()].filter(({ loginUrl }) => loginUrl !== null);
  if (name !== undefined) {
    const chosen = backends.get(name);
    if (chosen) return chosen.loginUrl === null ? undefined : chosen;
    const known = [...backends.keys()].join(', ') || 'none';
    throw new CliError(EXIT_CODES.input, `there is no backend ${name} here (there is: ${known})`);
  }
  if (waiting.length <= 1) return waiting[0];
  const names = waiting.map((backend) => backend.name).join(', ');
  throw new CliError(EXIT_CODES.input, `several wait for a login (${names}): name one`);
}

async function login(
  name: string | undefined,
  { browser, timeout }: LoginOptions,
  context: Context,
  stop: AbortSignal,
): Promise<number> {
  const { out, err, environment } = context;
  const chosen = choose(name, context);
  if (!chosen) {
    out.write(name === undefined ? 'nothing waits for a login\n' : `${name} needs no login\n`);
    return EXIT_CODES.ok;
  }
  const { name: backend, loginUrl } = chosen;
  err.write(`Log in here:\n  ${loginUrl ?? ''}\n`);
  if (browser && !(await openBrowser(loginUrl ?? '', environment)))
    err.write('No browser could be opened: open it yourself.\n');
  const deadline = Date.now() + timeout;
  while (backendsOf(context).get(backend)?.loginUrl !== null) {
    if (stop.aborted || Date.now() > deadline) {
      throw new CliError(EXIT_CODES.failed, `the login at ${backend} did not complete in time: try again`);
    }
    await sleep(LOOK_EVERY);
  }
  out.write(`logged in at ${backend}\n`);
  return EXIT_CODES.ok;
}
