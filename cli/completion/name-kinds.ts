/** Maps the argument name in the help to the path of a list operation, or to a file of the state folder. */
export const NAME_KINDS = {
  workload: '/workloads?all=true',
  /** The same list, for commands that call a workload a backend. */
  backend: '/workloads?all=true',
  group: '/groups',
  client: '/clients',
  key: '/secrets/default/keys',
  skill: '/skills',
  registry: '/registry',
  entry: '/registry/default/servers',
  source: '/registry/default/servers',
  server: 'status.json',
} as const;
export type NameKind = keyof typeof NAME_KINDS;

export const isNameKind = (text: string): text is NameKind => Object.hasOwn(NAME_KINDS, text);

export const NAMES_COMMAND = '__names';
