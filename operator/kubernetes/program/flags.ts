import { InvalidArgumentError, Option } from 'commander';
import { millisecondsOf } from '#crds/parts/primitives';
import { POD_ANNOTATIONS } from '#operator/plan/allowed-annotation';
import {
  bindAddress,
  CONNECTION_FLAGS,
  HEALTH_FLAGS,
  LOG_FLAGS,
  matching,
  parseFlags,
  type Print,
  readName,
  readNames,
  readNumber,
  readPort,
  RESOURCE_FLAGS,
  type SharedFlags,
} from './shared-flags.ts';

/** Flags of the operator. Durations are milliseconds; an empty list stands for an absent flag. */
export interface Flags extends SharedFlags {
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
  webhookPort?: number;
}

const readAnnotation = matching(
  /^(?!\*)([a-z0-9]([-.a-z0-9]{0,251}[a-z0-9])?\/)?([A-Za-z0-9]([-._A-Za-z0-9]{0,61}[A-Za-z0-9])?|\*)$/,
  'Write the name of an annotation, or a prefix with /* for all of it.',
);

/** Returns annotations that replace the defaults. */
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

const SHORTEST_RESYNC = 1000;

function readResync(text: string): number {
  if (!/^(\d+(\.\d+)?(ms|s|m|h|d))+$/.test(text) || millisecondsOf(text) < SHORTEST_RESYNC) {
    throw new InvalidArgumentError('Write a duration of a second or more, such as 10m.');
  }
  return millisecondsOf(text);
}

const RESOURCES = [
  ...RESOURCE_FLAGS,
  new Option('--runtime-image <image>', 'image of the pods of VirtualMCPServers').makeOptionMandatory(),
  new Option('--image-pull-secret <name>', 'pull secret of the pods; repeat the flag for several')
    .argParser(readNames)
    .default([], 'none'),
  new Option(
    '--max-concurrent-rollouts <number>',
    'maximum number of servers and backends, together, that an upgrade of the operator rolls at a time',
  )
    .argParser(readNumber(1, 1000))
    .default(10),
  new Option(
    '--stdio-attach',
    'allow images on standard input and output without a command; a bridge attaches to them through the API server',
  ).default(false),
  new Option('--allow-host-paths', 'allow hostPath volumes in podTemplateSpec, a way out of the pod').default(false),
  new Option(
    '--pod-annotation <names>',
    'annotations that resources may set on their pods, Deployments and Services, separated by commas or repeated flags; `prefix/*` allows all of a prefix',
  )
    .argParser(readAnnotations)
    .default(POD_ANNOTATIONS, POD_ANNOTATIONS.map((name) => `\`${name}\``).join(', ')),
  new Option(
    '--sidecars-of <namespace/name>',
    'VirtualMCPServers whose podTemplateSpec may add containers; these run beside the credentials of all callers',
  )
    .argParser(readServers)
    .default([], 'none'),
  new Option(
    '--runtime-env <NAME=value>',
    'variable of every runtime, such as HTTPS_PROXY, without credentials; repeat the flag for several',
  )
    .argParser(readVariable)
    .default([], 'none'),
  new Option('--scraper-namespace <names>', 'namespaces whose pods may read the metrics of runtimes')
    .argParser(readNames)
    .default([], 'none'),
];

const WORK = [
  new Option('--workers <number>', 'number of resources that are reconciled concurrently')
    .argParser(readNumber(1, 64))
    .default(4),
  new Option('--resync <duration>', 'interval at which unchanged resources are reconciled again, plus or minus a fifth')
    .argParser(readResync)
    .default(600_000, '10m'),
];

const ELECTION = [
  new Option('--name <name>', 'name of the installation, its Lease and the objects of its webhook')
    .argParser(readName)
    .default('vmcp-operator'),
  new Option('--leader-election', 'let only the operator that holds the Lease act').default(true),
  new Option('--no-leader-election', 'act at once; only for a single operator'),
  new Option('--leader-election-namespace <name>', "namespace of the Lease; by default the operator's own").argParser(
    readName,
  ),
  new Option('--leader-election-id <name>', 'name of the Lease; by default that of the installation').argParser(
    readName,
  ),
];

const SERVING = [
  bindAddress('health and metrics are served'),
  ...HEALTH_FLAGS,
  new Option('--webhook-port <port>', 'port of the validating webhook; by default no webhook runs').argParser(readPort),
  ...LOG_FLAGS,
];

export const FLAG_GROUPS = {
  Resources: RESOURCES,
  Work: WORK,
  'Several operators': ELECTION,
  'Ports and log': SERVING,
  'API server': CONNECTION_FLAGS,
};

/** Parses the command line of the operator. @throws CommanderError after it printed which flag is wrong and what to write */
export function readFlags(args: string[], version: string, print: Print): Flags {
  const description = 'Reconciles VirtualMCPServers, MCPServers and their configurations in a Kubernetes cluster';
  return parseFlags({ name: 'vmcp-operator', description, version }, FLAG_GROUPS, args, print).opts<Flags>();
}
