import { Argument, type Command, CommanderError, Help, type Option } from 'commander';
import { addAudit } from './audit/add-audit.ts';
import { addClientCommands } from './client-commands.ts';
import { addClients } from './clients/add-clients.ts';
import { addLogin } from './add-login.ts';
import {
  contextOf,
  ExplainedCommand,
  folderArgument,
  manifestsArgument,
  output,
  referencesOption,
  type Parts,
  type StateOptions,
  stateOption,
  type CommandDeps,
  timeoutOption,
  USUAL_STATE,
} from './command-parts.ts';
import type { ClusterOptions } from './cluster-folder.ts';
import { completion, type Shell, SHELLS } from './completion.ts';
import type { Format, RecordFormat } from './context.ts';
import type { DiffOptions } from './diff.ts';
import { down } from './down.ts';
import { CliError, EXIT_CODE_HELP, EXIT_CODES } from './exit-codes.ts';
import { addGroups } from './groups/add-groups.ts';
import { addPeople } from './people/add-people.ts';
import { addServerOptions, type ServerOptions } from './management/target.ts';
import { printObject } from './print-object.ts';
import { addPurge } from './purge/purge-command.ts';
import { addRegistries } from './registries/add-registries.ts';
import { render } from './render.ts';
import { addRun } from './run/run-command.ts';
import { addSecrets } from './secrets/add-secrets.ts';
import { addSkills } from './skills/add-skills.ts';
import { status } from './status.ts';
import { CLIENT_ANNOTATION, token, USERS_ANNOTATION } from './token.ts';
import { shownOutput } from './shown-output.ts';
import { upDetached } from './up-detached.ts';
import { up } from './up.ts';
import { validate, type References } from './validate.ts';
import { addWorkloads } from './workloads/add-workloads.ts';
import { addLogs } from './workloads/log-command.ts';

const TOKEN_HELP = `The VirtualMCPServer names, by annotations, an OAuth client and a Secret with user names and passwords:
  ${CLIENT_ANNOTATION}: <client id>
  ${USERS_ANNOTATION}: <name of a Secret: user to password>
With authServerConfig the user logs in there, page by page as a browser would: it follows redirects, enters name and password,
and agrees, on this machine only; later calls renew that login. Without, the issuer must be on this machine and offer the
password grant (that is what the client is for). For real identity providers log in by your client, or by vmcp try.`;

function addRunning({ program, deps, stop, finish }: Parts): void {
  program
    .command('up')
    .description('run a folder of manifests, and take over its changes until stopped')
    .addArgument(folderArgument())
    .option('-d, --detach', 'run in the background; return when it serves', false)
    .addOption(timeoutOption('with --detach: how long to wait until it serves', '60s'))
    .addOption(stateOption())
    .examples('vmcp up', 'vmcp up examples/quickstart --detach --timeout 2m')
    .action(async (folder: string, options: StateOptions & { detach: boolean; timeout: number }) => {
      const context = contextOf(deps, options);
      finish(await (options.detach ? upDetached(folder, options.timeout, context, stop) : up(folder, context, stop)));
    });
  program
    .command('down')
    .description('stop what runs here, with everything that it started')
    .addOption(stateOption())
    .examples('vmcp down')
    .action(async (options: StateOptions) => finish(await down(contextOf(deps, options))));
}

function addReading({ program, deps, finish }: Parts): void {
  const command = program
    .command('validate')
    .description('check manifests, and report errors with file and line')
    .addArgument(manifestsArgument())
    .addOption(referencesOption())
    .option('--cluster', 'say what the operator of a cluster would refuse', false)
    .addOption(output('table', 'json', 'yaml'))
    .addOption(stateOption());
  addClusterOptions(command, deps)
    .examples(
      'vmcp validate',
      'vmcp validate server.yaml backend.yaml',
      'vmcp validate examples/quickstart -o json',
      'vmcp validate --cluster server.yaml',
      'vmcp validate deploy --references warn',
    )
    .action(
      async (
        paths: string[],
        options: StateOptions &
          Omit<ClusterOptions, 'namespace'> & { output: Format; references: References; cluster: boolean },
      ) => {
        const { factsOf } = await import('./cluster-folder.ts');
        const facts = options.cluster ? factsOf(options) : undefined;
        finish(await validate(paths, { ...options, cluster: facts }, contextOf(deps, options)));
      },
    );
  addRender({ program, deps, finish });
}

function addClusterOptions(command: ExplainedCommand, deps: CommandDeps): ExplainedCommand {
  return command
    .option('--runtime-image <image>', 'image of the pods of VirtualMCPServers', `vmcp-runtime:${deps.version}`)
    .option('--stdio-attach', 'as the operator has it', false)
    .option('--allow-host-paths', 'as the operator has it', false)
    .option('--image-pull-secret <name...>', 'as the operator has it', [])
    .option('--pod-annotation <name...>', 'as the operator has it')
    .option('--sidecars-of <namespace/name...>', 'as the operator has it');
}

function addRender({ program, deps, finish }: Pick<Parts, 'program' | 'deps' | 'finish'>): void {
  const command = program
    .command('render')
    .description('print what would be run: run configurations and processes, with placeholders for secrets')
    .addArgument(folderArgument())
    .option('--cluster', 'print all objects that the operator of a cluster would apply', false)
    .option('-n, --namespace <name>', 'with --cluster: namespace of resources that name none', 'default')
    .addOption(output('yaml', 'json'))
    .addOption(stateOption());
  addClusterOptions(command, deps)
    .examples('vmcp render examples/quickstart', 'vmcp render --cluster -n team-a -o json')
    .action(
      async (
        folder: string,
        options: StateOptions & ClusterOptions & { output: 'yaml' | 'json'; cluster: boolean },
      ) => {
        const context = contextOf(deps, options);
        const { renderCluster } = await import('./render-cluster.ts');
        const { cluster, output: format } = options;
        finish(cluster ? renderCluster(folder, format, options, context) : await render(folder, format, context));
      },
    );
}

function addDiff({ program, deps, finish }: Parts): void {
  const command = program
    .command('diff')
    .description('say what applying a folder of manifests would change in a cluster; reads no Secret, writes nothing')
    .addArgument(folderArgument())
    .option('--kubeconfig <file>', 'kubeconfig; default KUBECONFIG, or ~/.kube/config')
    .option('--context <name>', 'context of the kubeconfig; default its current one')
    .option('-n, --namespace <name>', 'namespace of resources that name none; default that of the context', '')
    .addOption(output('table', 'json'));
  addClusterOptions(command, deps)
    .addHelpText(
      'after',
      '\nThe exit code is 1 where something differs. Settings are taken from the operator of the cluster, if it may be read.',
    )
    .examples('vmcp diff deploy/team-a -n team-a', 'vmcp diff --context production -o json')
    .action(async (folder: string, options: DiffOptions) => {
      const { diff } = await import('./diff.ts');
      finish(await diff(folder, options, contextOf(deps, { state: USUAL_STATE })));
    });
}

function addLooking({ program, deps, finish }: Parts): void {
  const command = program
    .command('status')
    .description('show endpoints and backends: state, tools, authentication, reason')
    .argument('[server]', 'name of a VirtualMCPServer; default all')
    .addOption(output('table', 'json', 'yaml', 'name'));
  addServerOptions(command)
    .examples('vmcp status', 'vmcp status -o json', 'vmcp status --context production -n team-a')
    .action(async (server: string | undefined, options: StateOptions & ServerOptions & { output: RecordFormat }) =>
      finish(await status(server, options, contextOf(deps, options))),
    );
}

function addRest({ program, deps, finish }: Parts): void {
  program
    .command('token')
    .description('print an access token of a user of a development identity provider')
    .argument('<user>', 'name of the user, e.g. alice')
    .option('--server <server>', 'VirtualMCPServer that the token is for; default the first')
    .addOption(stateOption())
    .addHelpText('after', `\n${TOKEN_HELP}`)
    .examples('vmcp token alice', 'curl -H "Authorization: Bearer $(vmcp token alice)" …')
    .action(async (user: string, options: StateOptions & { server?: string }) =>
      finish(await token(user, options.server, contextOf(deps, options))),
    );
  program
    .command('version')
    .description('print the version')
    .addOption(output('table', 'json', 'yaml'))
    .examples('vmcp version', 'vmcp version -o json')
    .action(({ output: format }: { output: Format }) => {
      const version = { version: deps.version, node: process.versions.node, platform: process.platform };
      deps.out.write(format === 'table' ? `vmcp ${deps.version}\n` : printObject(version, format));
      finish(EXIT_CODES.ok);
    });
  program
    .command('completion')
    .description('print the script that completes vmcp in a shell')
    .addArgument(new Argument('<shell>', 'shell').choices(SHELLS))
    .examples('source <(vmcp completion bash)', 'vmcp completion fish | source')
    .action((shell: Shell) => finish(completion(shell, program, deps)));
}

const RECORDS = [
  addRun,
  addWorkloads,
  addGroups,
  addRegistries,
  addSecrets,
  addClients,
  addSkills,
  addPeople,
  addPurge,
];

/** Omits defaults of false, undefined or empty from the help. */
const describeOption = (option: Option): string =>
  new Help().optionDescription(option).replace(/ \(default: (?:false|\[\]|"")\)$/, '');

export function createProgram(parts: Omit<Parts, 'program'>): Command {
  const { deps } = parts;
  const { out, err, version } = deps;
  const program = new ExplainedCommand('vmcp', deps.program)
    .description('One MCP endpoint for a group of MCP servers, with an authentication boundary on each side')
    .version(version, '-V, --version')
    .examples(
      'vmcp registry search git',
      'vmcp run memory',
      'vmcp connect cursor --write',
      'vmcp status',
      'vmcp up examples/quickstart --detach',
      'vmcp down',
    )
    .addHelpText('after', `\n${EXIT_CODE_HELP}`)
    .showHelpAfterError('(--help shows what there is)')
    .exitOverride()
    .configureHelp({ optionDescription: describeOption })
    .configureOutput({ writeOut: (text) => out.write(text), writeErr: (text) => err.write(text) });
  for (const add of [
    addRunning,
    addReading,
    addDiff,
    addLooking,
    addLogs,
    addAudit,
    addLogin,
    addClientCommands,
    ...RECORDS,
    addRest,
  ])
    add({ ...parts, program });
  return program;
}

function reportFailure(problem: unknown, { err }: CommandDeps): number {
  if (problem instanceof CommanderError) return problem.exitCode === 0 ? EXIT_CODES.ok : EXIT_CODES.usage;
  err.write(`vmcp: ${problem instanceof Error ? problem.message : String(problem)}\n`);
  return problem instanceof CliError ? problem.exitCode : EXIT_CODES.failed;
}

/** Ends long-running commands on `stop`. Returns the exit code; never throws. */
export async function runCommand(args: string[], given: CommandDeps, stop: AbortSignal): Promise<number> {
  const deps = { ...given, out: shownOutput(given.out), err: shownOutput(given.err) };
  let code: number = EXIT_CODES.ok;
  const finish = (result: number): void => {
    code = result;
  };
  try {
    await createProgram({ deps, stop, finish }).parseAsync(args, { from: 'user' });
    return code;
  } catch (problem) {
    return reportFailure(problem, deps);
  }
}
