import { type ResourceKey, runtimeName } from '#operator/world';
import { ResourceName } from '#crds/parts/object-meta';
import { DnsLabel } from '#crds/parts/primitives';
import { CliError, EXIT_CODES } from '../exit-codes.ts';
import type { WrittenPlace } from './written-places.ts';

/** Kinds that have a runtime, which stores something. */
export const SERVER_KINDS = ['VirtualMCPServer', 'MCPServer'] as const;
type ServerKind = (typeof SERVER_KINDS)[number];

/** A server by its kind, namespace and name. */
export interface ServerKey extends ResourceKey {
  kind: ServerKind;
}

export const isServer = ({ kind }: Pick<ResourceKey, 'kind'>): boolean => SERVER_KINDS.some((one) => one === kind);

export const shownServer = ({ namespace, ...key }: ServerKey): string =>
  `${runtimeName(key)} of namespace ${namespace}`;

/** A server beside it that may keep its own in the same Redis. */
export interface Neighbour {
  shown: string;
  places: readonly WrittenPlace[];
}

/** A number of things of one kind at one place. */
export interface Amount {
  where: string;
  what: string;
  count: number;
}

/** What is known of a server and of what it stored. */
export interface Stored {
  /** Why nothing is to be taken from under it: it is still there, or ends only now. Undefined: it is gone. */
  standing: string | undefined;
  /** Places that its manifest names; none where that is gone. */
  written: readonly WrittenPlace[];
  neighbours: readonly Neighbour[];
  /** Value of a file of a written place: see `secretFile`. @throws CliError */
  readSecret: (file: string) => string;
  /** What lies on this machine. */
  files: readonly Amount[];
  /** Deletes that. */
  removeFiles: () => void;
  /** Said where its Redis is not reached. */
  remedy: (host: string) => string;
}

/** `tools`, or `MCPServer/github` for the endpoint of an MCPServer by itself. @throws CliError */
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
