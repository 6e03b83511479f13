import { Argument, Option } from 'commander';
import { contextOf, output, type Parts, type StateOptions, timeoutOption } from './command-parts.ts';
import { CLIENTS } from '#management/clients/files/clients';
import { connect, type ConnectOptions, listClients } from './connect/connect.ts';
import type { DoctorOptions } from './doctor/doctor.ts';
import { addServerOptions } from './management/target.ts';
import type { TryOptions } from './try/try.ts';

const DOCTOR_HELP = `
Replays what MCP clients demand: the challenge, the metadata in the order in which they are looked for, identifiers compared byte
for byte, keys, registration, authorization requests, forgotten clients, probes, foreign Host and Origin. Ends with 1 when a check
failed. It changes nothing, unless --register is given: a registered client cannot be removed.`;

const urlArgument = (): Argument =>
  new Argument('[url]', 'endpoint; default that of a server that runs here, or in the cluster that is named');

const serverOption = (): Option => new Option('--server <server>', 'VirtualMCPServer; default the first');

function addTry({ program, deps, stop, finish }: Parts): void {
  const command = program
    .command('try')
    .description('log in at an endpoint by your browser, list its tools, and show who you are at each backend')
    .addArgument(urlArgument())
    .addOption(serverOption())
    .option('--no-browser', 'only print the URL to log in at')
    .addOption(timeoutOption('how long the login may take', '5m'))
    .addOption(output('table', 'json'));
  addServerOptions(command)
    .examples(
      'vmcp try',
      'vmcp try https://mcp.example.com/mcp --no-browser -o json',
      'vmcp try --context production -n team-a',
    )
    .action(async (url: string | undefined, options: StateOptions & TryOptions) => {
      // Loaded on demand, so that other commands start without the MCP client.
      const { tryEndpoint } = await import('./try/try.ts');
      finish(await tryEndpoint(url, options, contextOf(deps, options), stop));
    });
}

function addConnect({ program, deps, finish }: Parts): void {
  const command = program
    .command('connect')
    .description('print what to add to the configuration of an MCP client, or add it; without a client: list them')
    .addArgument(new Argument('[client]', 'client').choices(CLIENTS.map(({ id }) => id)))
    .option(
      '-w, --write',
      'add it to the configuration file; what else is in there stays, and a backup beside it',
      false,
    )
    .option('--replace', 'with --write: take the place of another entry of that name', false)
    .option('--name <name>', 'what the client calls it; default the name of the VirtualMCPServer')
    .addOption(
      new Option('--url <url>', 'endpoint; default that of a server that runs here').conflicts([
        'context',
        'kubeconfig',
      ]),
    )
    .addOption(serverOption())
    .addOption(output('table', 'json', 'name'));
  addServerOptions(command)
    .examples(
      'vmcp connect',
      'vmcp connect cursor --write',
      'vmcp connect codex --url https://mcp.example.com/mcp',
      'vmcp connect zed --context production -n team-a',
    )
    .action(async (client: string | undefined, options: StateOptions & ConnectOptions) => {
      const context = contextOf(deps, options);
      finish(await (client === undefined ? listClients(options, context) : connect(client, options, context)));
    });
}

function addDoctor({ program, deps, finish }: Parts): void {
  const command = program
    .command('doctor')
    .description('look at an endpoint as MCP clients do, and explain what would stop them')
    .addArgument(urlArgument())
    .addOption(serverOption())
    .option('--register', 'also register clients, which cannot be undone, and try the authorization endpoint', false)
    .option(
      '--token-file <file>',
      'file with an access token, to check the endpoint as a logged-in user; - for standard input',
    )
    .addOption(output('table', 'json'));
  addServerOptions(command)
    .addHelpText('after', DOCTOR_HELP)
    .examples('vmcp doctor https://mcp.example.com/mcp', 'vmcp token alice | vmcp doctor --token-file -')
    .action(async (url: string | undefined, options: StateOptions & DoctorOptions) => {
      const { doctor } = await import('./doctor/doctor.ts');
      finish(await doctor(url, options, contextOf(deps, options)));
    });
}

export function addClientCommands(parts: Parts): void {
  for (const add of [addTry, addConnect, addDoctor]) add(parts);
}
