import { Command, InvalidArgumentError, Option } from 'commander';
import { DEFAULT_API_GROUP } from '#crds/kinds/kind-names';

const LOG_LEVELS = ['error', 'warn', 'info', 'debug'] as const;
const LOG_FORMATS = ['json', 'text'] as const;

/** Flags of both the operator and the management API. An empty list stands for an absent flag. */
export interface SharedFlags {
  apiGroup: string;
  watchNamespace: string[];
  bindAddress: string;
  healthPort: number;
  metricsPort: number;
  logLevel: (typeof LOG_LEVELS)[number];
  logFormat: (typeof LOG_FORMATS)[number];
  kubeconfig?: string;
  context?: string;
}

/** Flags by subject, in the order of the reference page. */
export type FlagGroups = Readonly<Record<string, readonly Option[]>>;

const LABEL = /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/;
const SUBDOMAIN = /^(?=.{1,253}$)[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)+$/;

/** Returns a parser that accepts texts of one form. @throws InvalidArgumentError with the remedy */
export function matching(pattern: RegExp, remedy: string): (text: string) => string {
  return (text) => {
    if (!pattern.test(text)) throw new InvalidArgumentError(remedy);
    return text;
  };
}

export const readName = matching(
  LABEL,
  'Write a name of Kubernetes: lower-case letters, digits and hyphens, at most 63.',
);
const readGroup = matching(SUBDOMAIN, 'Write the API group of the installed definitions, such as vmcp.dev.');

/** Reads names separated by commas, or from repeated flags. */
export function readNames(text: string, before: string[]): string[] {
  return [...new Set([...before, ...text.split(',').map((name) => readName(name.trim()))])];
}

/** Returns a parser of whole numbers between two bounds, both included. @throws InvalidArgumentError with the remedy */
export function readNumber(from: number, to: number): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (!/^\d+$/.test(text) || value < from || value > to) {
      throw new InvalidArgumentError(`Write a whole number from ${from} to ${to}.`);
    }
    return value;
  };
}

export const readPort = readNumber(0, 65_535);

export const bindAddress = (served: string): Option =>
  new Option('--bind-address <address>', `address on which ${served}`).default('::', '::, all of both families');

export const RESOURCE_FLAGS = [
  new Option('--api-group <group>', 'API group of the kinds that are served')
    .argParser(readGroup)
    .default(DEFAULT_API_GROUP),
  new Option('--watch-namespace <names>', 'namespaces to serve, separated by commas or repeated flags; by default all')
    .argParser(readNames)
    .default([], 'all'),
];

export const HEALTH_FLAGS = [
  new Option('--health-port <port>', 'port of /healthz and /readyz; 0 for any').argParser(readPort).default(8081),
  new Option('--metrics-port <port>', 'port of /metrics; 0 for any').argParser(readPort).default(8080),
];

export const LOG_FLAGS = [
  new Option('--log-level <level>', 'lowest level that is logged').choices(LOG_LEVELS).default('info'),
  new Option('--log-format <format>', 'format of a log line: a JSON object or a text')
    .choices(LOG_FORMATS)
    .default('json'),
];

export const CONNECTION_FLAGS = [
  new Option(
    '--kubeconfig <file>',
    "kubeconfig; by default the pod's own account, or KUBECONFIG, or ~/.kube/config outside a cluster",
  ),
  new Option('--context <name>', 'context of the kubeconfig; by default its current one'),
];

export interface Print {
  out: (text: string) => void;
  err: (text: string) => void;
}

/** Parses a command line. @throws CommanderError after it printed which flag is wrong and what to write */
export function parseFlags(
  { name, description, version }: { name: string; description: string; version: string },
  groups: FlagGroups,
  args: string[],
  print: Print,
): Command {
  const command = new Command(name)
    .description(description)
    .version(version, '-V, --version')
    .showHelpAfterError('(--help shows what there is)')
    .allowExcessArguments(false)
    .exitOverride()
    .configureOutput({ writeOut: print.out, writeErr: print.err });
  for (const option of Object.values(groups).flat()) command.addOption(option);
  return command.parse(args, { from: 'user' });
}
