import { type Command, Option } from 'commander';
import { stateOption } from '../command-parts.ts';
import { CliError, EXIT_CODES } from '../exit-codes.ts';
import { quoted } from '../name-program.ts';

export interface TargetOptions {
  state: string;
  /** Used if no server runs. */
  folder?: string;
  kubeconfig?: string;
  context?: string;
  namespace?: string;
  /** Default: the only installed one. */
  apiGroup?: string;
  /** The folder may be missing. */
  withoutFolder?: boolean;
}

export type ServerOptions = Pick<TargetOptions, 'kubeconfig' | 'context' | 'namespace' | 'apiGroup'>;

/** `vmcp run` creates this folder by default if no server runs. */
export const USUAL_FOLDER = './vmcp';

export function addTarget<C extends Command>(command: C): C {
  command
    .addOption(stateOption())
    .addOption(
      new Option('--folder <folder>', 'folder with manifests, where nothing runs; default the one that ran here last'),
    );
  return addCluster(command, 'namespace; default that of the context, on one machine "default"');
}

export function addServerOptions<C extends Command>(command: C): C {
  return addCluster(command.addOption(stateOption()), 'namespace; default that of the context, on one machine all');
}

function addCluster<C extends Command>(command: C, namespace: string): C {
  return command
    .addOption(new Option('--context <name>', 'a cluster: context of the kubeconfig').conflicts(['folder']))
    .addOption(
      new Option(
        '--kubeconfig <file>',
        'a cluster: kubeconfig; with --context default KUBECONFIG, or ~/.kube/config',
      ).conflicts(['folder']),
    )
    .addOption(
      new Option(
        '--api-group <group>',
        'a cluster: API group of the installation; needed where the cluster has several',
      ).conflicts(['folder']),
    )
    .addOption(new Option('-n, --namespace <name>', namespace));
}

export const isCluster = ({ context, kubeconfig }: Pick<TargetOptions, 'context' | 'kubeconfig'>): boolean =>
  context !== undefined || kubeconfig !== undefined;

/** @throws CliError */
export function checkNamesCluster(options: ServerOptions): void {
  if (options.apiGroup === undefined || isCluster(options)) return;
  throw new CliError(EXIT_CODES.input, '--api-group is for a cluster: name it with --context or --kubeconfig as well');
}

export const TARGET_HELP = `Commands about workloads, groups, secrets, clients, registries and skills work with what runs on the state folder (\`./.vmcp\`, or
\`--state\`), through its management API. Where nothing runs there they work with a folder of manifests (\`--folder\`, or the one that ran
last), and what they change is taken over at the next \`vmcp up\`; secrets and the registry need no folder. With \`--context\` or \`--kubeconfig\` they work with a namespace of a cluster
(\`-n\`), with the rights of the kubeconfig and no others. The API group of an installation is found by itself; a cluster with several wants
\`--api-group\`. \`vmcp status\`, \`connect\`, \`try\` and \`doctor\` look at the endpoints of what runs here, or of that namespace; an endpoint with a URL that
only pods reach is refused with what to do.`;

export function kubectlFor(
  { kubeconfig, context }: Pick<TargetOptions, 'kubeconfig' | 'context'>,
  namespace: string,
): string {
  const named = Object.entries({ kubeconfig, context }).flatMap(([option, value]) =>
    value === undefined ? [] : [`--${option} ${quoted(value)}`],
  );
  return ['kubectl', ...named, `-n ${namespace}`].join(' ');
}
