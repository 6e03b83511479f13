/** Sources of names by argument name in the help: the path of a list operation, or a file of the state folder. */
export const NAME_KINDS = {
  workload: '/workloads?all=true',
  /** The same list, for commands that call a workload a backend. */
  backend: '/workloads?all=true',
  group: '/groups',
  client: '/clients',
  key: '/secrets/default/keys',
  skill: '/skills',
  registry: '/registry',
  /** Entries of the registry. */
  entry: '/registry/default/servers',
  source: '/registry/default/servers',
  /** Endpoints. */
  server: 'status.json',
} as const;
export type NameKind = keyof typeof NAME_KINDS;

export const isNameKind = (text: string): text is NameKind => Object.hasOwn(NAME_KINDS, text);

/** The hidden command that the completion scripts call. */
export const NAMES_COMMAND = '__names';
