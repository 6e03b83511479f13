import { Option } from 'commander';
import {
  bindAddress,
  CONNECTION_FLAGS,
  HEALTH_FLAGS,
  LOG_FLAGS,
  parseFlags,
  type Print,
  readName,
  readPort,
  RESOURCE_FLAGS,
  type SharedFlags,
} from '#operator/kubernetes/program/shared-flags';

/** An empty list means that none was given. */
export interface Flags extends SharedFlags {
  name: string;
  port: number;
  defaultNamespace?: string;
  allowPrivateAddresses: boolean;
  sigstoreRoots?: string;
}

const REQUESTS = [
  new Option(
    '--default-namespace <name>',
    'namespace of requests that name none; without: each request must name one',
  ).argParser(readName),
  new Option(
    '--allow-private-addresses',
    'allow registries and skills at private addresses, which this program then calls for whoever may write them',
  ).default(false),
  new Option(
    '--sigstore-roots <folder>',
    "folder with the roots that signatures of images are verified with, a file <host>.json for each sigstore instance; without: the public one's, fetched by TUF",
  ),
];

const SERVING = [
  new Option(
    '--name <name>',
    'name of this installation: `<name>-management` is its Service and the Secret with its certificate, `<name>-management-ca` the ConfigMap with its authority',
  )
    .argParser(readName)
    .default('vmcp'),
  bindAddress('the API, health and metrics are served'),
  new Option('--port <port>', 'port of the API; 0 for any').argParser(readPort).default(4485),
  ...HEALTH_FLAGS,
  ...LOG_FLAGS,
];

export const FLAG_GROUPS = {
  Resources: RESOURCE_FLAGS,
  Requests: REQUESTS,
  'Ports and log': SERVING,
  'API server': CONNECTION_FLAGS,
};

/** @throws CommanderError after it printed the invalid flag and the remedy */
export function readFlags(args: string[], version: string, print: Print): Flags {
  const description = 'Serves the management API of a Kubernetes cluster';
  return parseFlags({ name: 'vmcp-management', description, version }, FLAG_GROUPS, args, print).opts<Flags>();
}
