import { Command, InvalidArgumentError, Option } from 'commander';
import { DEFAULT_API_GROUP } from '#crds/kinds/kind-names';
import { millisecondsOf } from '#crds/parts/primitives';
import { POD_ANNOTATIONS } from '#operator/plan/allowed-annotation';

export const LOG_LEVELS = ['error', 'warn', 'info', 'debug'] as const;
export const LOG_FORMATS = ['json', 'text'] as const;

/** What the operator is told on its command line. Durations are milliseconds; an empty list means none was given. */
export interface Flags {
  apiGroup: string;
  watchNamespace: string[];
  name: string;
  runtimeImage: string;
  imagePullSecret: string[];
  stdioAttach: boolean;
  allowHostPaths: boolean;
  podAnnotation: string[];
  sidecarsOf: string[];
  runtimeEnv: { name: string; value: string }[];
  maxConcurrentRollouts: number;
  scraperNamespace: string[];
  workers: number;
  resync: number;
  leaderElection: boolean;
  leaderElectionNamespace?: string;
  leaderElectionId?: string;
  bindAddress: string;
  healthPort: number;
  metricsPort: number;
  webhookPort?: number;
  managementPort?: number;
  managementNamespace?: string;
  managementAllowPrivateAddresses: boolean;
  managementSigstoreRoots?: string;
  logLevel: (typeof LOG_LEVELS)[number];
  logFormat: (typeof LOG_FORMATS)[number];
  kubeconfig?: string;
  context?: string;
}

const LABEL = /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/;
const SUBDOMAIN = /^(?=.{1,253}$)[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)+$/;

function matching(pattern: RegExp, remedy: string): (text: string) => string {
  return (text) => {
    if (!pattern.test(text)) throw new InvalidArgumentError(remedy);
    return text;
  };
}

const readName = matching(LABEL, 'Write a name of Kubernetes: lower-case letters, digits and hyphens, at most 63.');
const readGroup = matching(SUBDOMAIN, 'Write the API group of the installed definitions, such as vmcp.dev.');

/** Names, several in one argument by commas, or the flag several times. */
function readNames(text: string, before: string[]): string[] {
  return [...new Set([...before, ...text.split(',').map((name) => readName(name.trim()))])];
}

const readAnnotation = matching(
  /^(?!\*)([a-z0-9]([-.a-z0-9]{0,251}[a-z0-9])?\/)?([A-Za-z0-9]([-._A-Za-z0-9]{0,61}[A-Za-z0-9])?|\*)$/,
  'Write the name of an annotation, or a prefix with /* for all of it.',
);

/** Annotations in place of the usual ones. */
function readAnnotations(text: string, before: readonly string[]): string[] {
  const given = before === POD_ANNOTATIONS ? [] : before;
  return [...new Set([...given, ...text.split(',').map((name) => readAnnotation(name.trim()))])];
}

const readServer = matching(/^[-a-z0-9]{1,63}\/[-a-z0-9]{1,45}$/, 'Write namespace/name of a VirtualMCPServer.');

function readServers(text: string, before: string[]): string[] {
  return [...new Set([...before, ...text.split(',').map((name) => readServer(name.trim()))])];
}

function readVariable(text: string, before: { name: string; value: string }[]): { name: string; value: string }[] {
  const [, name, value] = /^([A-Za-z_][A-Za-z0-9_]*)=(.*)$/.exec(text) ?? [];
  if (name === undefined || value === undefined) throw new InvalidArgumentError('Write NAME=value.');
  return [...before.filter((one) => one.name !== name), { name, value }];
}

function readNumber(from: number, to: number): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (!/^\d+$/.test(text) || value < from || value > to) {
      throw new InvalidArgumentError(`Write a whole number from ${from} to ${to}.`);
    }
    return value;
  };
}

const SHORTEST_RESYNC = 1000;

function readResync(text: string): number {
  if (!/^(\d+(\.\d+)?(ms|s|m|h|d))+$/.test(text) || millisecondsOf(text) < SHORTEST_RESYNC) {
    throw new InvalidArgumentError('Write a duration of a second or more, such as 10m.');
  }
  return millisecondsOf(text);
}

const RESOURCES = [
  new Option('--api-group <group>', 'API group of the kinds that are served')
    .argParser(readGroup)
    .default(DEFAULT_API_GROUP),
  new Option(
    '--watch-namespace <names>',
    'namespaces that are served, separated by commas or the flag several times; without: all',
  )
    .argParser(readNames)
    .default([], 'all'),
  new Option('--runtime-image <image>', 'image of the pods of VirtualMCPServers').makeOptionMandatory(),
  new Option('--image-pull-secret <name>', 'pull secret of the pods that are made; several times for several')
    .argParser(readNames)
    .default([], 'none'),
  new Option(
    '--max-concurrent-rollouts <number>',
    'how many servers and backends, together, an upgrade of the operator rolls at a time',
  )
    .argParser(readNumber(1, 1000))
    .default(10),
  new Option(
    '--stdio-attach',
    'allow images on standard input and output whose command is unknown: they are attached to through the API server',
  ).default(false),
  new Option('--allow-host-paths', 'allow hostPath volumes in podTemplateSpec, a way out of the pod').default(false),
  new Option(
    '--pod-annotation <names>',
    'annotations that resources may give their pods, Deployments and Services, separated by commas or the flag several times; `prefix/*` allows all of a prefix',
  )
    .argParser(readAnnotations)
    .default(POD_ANNOTATIONS, POD_ANNOTATIONS.map((name) => `\`${name}\``).join(', ')),
  new Option(
    '--sidecars-of <namespace/name>',
    'VirtualMCPServers whose podTemplateSpec may bring containers, which then run beside the credentials of all callers',
  )
    .argParser(readServers)
    .default([], 'none'),
  new Option(
    '--runtime-env <NAME=value>',
    'variable of every runtime, such as HTTPS_PROXY, without credentials; several times for several',
  )
    .argParser(readVariable)
    .default([], 'none'),
  new Option('--scraper-namespace <names>', 'namespaces whose pods may read the metrics of runtimes')
    .argParser(readNames)
    .default([], 'none'),
];

const WORK = [
  new Option('--workers <number>', 'how many resources are worked on at once').argParser(readNumber(1, 64)).default(4),
  new Option(
    '--resync <duration>',
    'time after which a resource is looked at again although nothing changed, give or take a fifth',
  )
    .argParser(readResync)
    .default(600_000, '10m'),
];

const ELECTION = [
  new Option('--name <name>', 'name of this installation: of its Lease and of the objects of its webhook')
    .argParser(readName)
    .default('vmcp-operator'),
  new Option('--leader-election', 'of several operators only the one that holds the Lease acts').default(true),
  new Option('--no-leader-election', 'act at once: for one operator only'),
  new Option('--leader-election-namespace <name>', "namespace of the Lease; without: the operator's own").argParser(
    readName,
  ),
  new Option('--leader-election-id <name>', 'name of the Lease; without: that of the installation').argParser(readName),
];

const SERVING = [
  new Option('--bind-address <address>', 'address on which health, metrics and the management API are served').default(
    '::',
    '::, all of both families',
  ),
  new Option('--health-port <port>', 'port of /healthz and /readyz; 0 for any')
    .argParser(readNumber(0, 65_535))
    .default(8081),
  new Option('--metrics-port <port>', 'port of /metrics; 0 for any').argParser(readNumber(0, 65_535)).default(8080),
  new Option('--webhook-port <port>', 'port of the validating webhook; without: no webhook').argParser(
    readNumber(0, 65_535),
  ),
  new Option('--log-level <level>', 'what is logged').choices(LOG_LEVELS).default('info'),
  new Option('--log-format <format>', 'how it is logged: a JSON object or a text a line')
    .choices(LOG_FORMATS)
    .default('json'),
];

const MANAGEMENT = [
  new Option('--management-port <port>', 'port of the management API; without: no management API').argParser(
    readNumber(0, 65_535),
  ),
  new Option(
    '--management-namespace <name>',
    'namespace that a request to the management API means where it names none; without: it must name one',
  ).argParser(readName),
  new Option(
    '--management-allow-private-addresses',
    'allow registries and skills at private addresses, which the operator then calls for whoever may write them',
  ).default(false),
  new Option(
    '--management-sigstore-roots <folder>',
    "folder with the roots that signatures of images are verified with, a file <host>.json for each sigstore instance; without: the public one's, fetched by TUF",
  ),
];

const CONNECTION = [
  new Option(
    '--kubeconfig <file>',
    "kubeconfig; without: the pod's own account, or KUBECONFIG, or ~/.kube/config outside a cluster",
  ),
  new Option('--context <name>', 'context of the kubeconfig; without: its current one'),
];

/** Flags by what they are about, in the order of the reference page. */
export const FLAG_GROUPS = {
  Resources: RESOURCES,
  Work: WORK,
  'Several operators': ELECTION,
  'Ports and log': SERVING,
  'Management API': MANAGEMENT,
  'API server': CONNECTION,
};

/** The command line of the operator. Throws a CommanderError, which names the flag and says what to write, after it was printed. */
export function readFlags(
  args: string[],
  version: string,
  print: { out: (text: string) => void; err: (text: string) => void },
): Flags {
  const command = new Command('vmcp-operator')
    .description('Makes what VirtualMCPServers, MCPServers and their configurations say true in a Kubernetes cluster')
    .version(version, '-V, --version')
    .showHelpAfterError('(--help shows what there is)')
    .allowExcessArguments(false)
    .exitOverride()
    .configureOutput({ writeOut: print.out, writeErr: print.err });
  for (const option of Object.values(FLAG_GROUPS).flat()) command.addOption(option);
  return command.parse(args, { from: 'user' }).opts<Flags>();
}
