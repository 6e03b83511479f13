import { type ResourceKey, runtimeName } from '#operator/snapshot';
import { ResourceName } from '#crds/parts/object-meta';
import { DnsLabel } from '#crds/parts/primitives';
import { CliError, EXIT_CODES } from '../exit-codes.ts';
import type { WrittenKeys } from './find-written-keys.ts';

/** These kinds have a runtime that stores data. */
export const SERVER_KINDS = ['VirtualMCPServer', 'MCPServer'] as const;
type ServerKind = (typeof SERVER_KINDS)[number];

export interface ServerKey extends ResourceKey {
  kind: ServerKind;
}

export const isServer = ({ kind }: Pick<ResourceKey, 'kind'>): boolean => SERVER_KINDS.some((one) => one === kind);

export const shownServer = ({ namespace, ...key }: ServerKey): string =>
  `${runtimeName(key)} of namespace ${namespace}`;

/** A neighbour may use the same Redis. */
export interface Neighbour {
  shown: string;
  places: readonly WrittenKeys[];
}

export interface Amount {
  where: string;
  what: string;
  count: number;
}

export interface Stored {
  /** Why the data must stay: the server exists or is being deleted. Undefined: the server is deleted. */
  standing: string | undefined;
  /** Empty without a manifest. */
  written: readonly WrittenKeys[];
  neighbours: readonly Neighbour[];
  /** See `secretFile`. @throws CliError */
  readSecret: (file: string) => string;
  files: readonly Amount[];
  removeFiles: () => void;
  remedy: (host: string) => string;
}

/** Parses `tools`, or `MCPServer/github` for the own endpoint of an MCPServer. @throws CliError */
export function readServer(text: string, namespace: string): ServerKey {
  if (!DnsLabel.safeParse(namespace).success)
    throw new CliError(EXIT_CODES.usage, `--namespace ${JSON.stringify(namespace)}: no namespace has such a name`);
  const { kind: written = 'VirtualMCPServer', name = '' } =
    /^(?:(?<kind>\w+)\/)?(?<name>[^/]*)$/.exec(text)?.groups ?? {};
  const kind = SERVER_KINDS.find((one) => one === written);
  if (kind && ResourceName.safeParse(name).success) return { kind, namespace, name };
  const remedy = 'write the name of a VirtualMCPServer, or MCPServer/<name> for an endpoint of its own';
  throw new CliError(EXIT_CODES.usage, `${JSON.stringify(text)} is no server: ${remedy}`);
}
