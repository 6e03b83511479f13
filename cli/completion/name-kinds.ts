/**
 * Names that are asked from what runs here, by what the help calls an argument: the path of the operation whose answer lists them, or
 * the file of the state folder.
 */
export const NAME_KINDS = {
  workload: '/workloads?all=true',
  /** The same, to those who call it. */
  backend: '/workloads?all=true',
  group: '/groups',
  client: '/clients',
  key: '/secrets/default/keys',
  skill: '/skills',
  registry: '/registry',
  /** Of a registry. */
  entry: '/registry/default/servers',
  source: '/registry/default/servers',
  /** Endpoints. */
  server: 'status.json',
} as const;
export type NameKind = keyof typeof NAME_KINDS;

export const isNameKind = (text: string): text is NameKind => Object.hasOwn(NAME_KINDS, text);

/** The hidden command by which the scripts of shells ask. */
export const NAMES_COMMAND = '__names';
