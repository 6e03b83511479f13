import { z } from 'zod';
import type { Resources, StoredResource } from '#management/stores/resources';
import { CliError, EXIT_CODES } from '../exit-codes.ts';

/** The field of each kind that holds an authorization server. */
const FIELDS = { VirtualMCPServer: 'authServerConfig', MCPExternalAuthConfig: 'embeddedAuthServer' } as const;
type ServerKind = keyof typeof FIELDS;
const KINDS = Object.keys(FIELDS) as ServerKind[];

const Config = z.looseObject({ blockedUsers: z.array(z.string()).optional() });

/** A resource with an authorization server. */
export interface LoginServer {
  readonly resource: StoredResource;
  readonly field: string;
  readonly config: z.infer<typeof Config>;
}

async function listServers(resources: Resources): Promise<LoginServer[]> {
  const all = await Promise.all(KINDS.map((kind) => resources.list(kind)));
  return all.flat().flatMap((resource) => {
    const field = FIELDS[resource.kind as ServerKind];
    const config = Config.safeParse(resource.spec[field]).data;
    return config === undefined ? [] : [{ resource, field, config }];
  });
}

/** Finds the only authorization server, or that of the named resource. @throws CliError */
export async function findServer(resources: Resources, name: string | undefined, place: string): Promise<LoginServer> {
  const all = await listServers(resources);
  const found = name === undefined ? all : all.filter(({ resource }) => resource.name === name);
  const [server] = found;
  if (server !== undefined && found.length === 1) return server;
  const names = all.map(({ resource }) => `${resource.kind} ${resource.name}`).join(', ');
  if (all.length === 0)
    throw new CliError(
      EXIT_CODES.notFound,
      `no server of ${place} has an authorization server: write authServerConfig in a VirtualMCPServer first`,
    );
  const problem =
    name === undefined ? 'there are several authorization servers' : `there is no single server "${name}"`;
  throw new CliError(EXIT_CODES.notFound, `${problem}: name one of these with --server: ${names}`);
}

/** Returns the users who become blocked, or unblocked. The write fails if the resource has changed meanwhile. */
export async function changeBlocked(
  resources: Resources,
  { resource, field, config }: LoginServer,
  { block, users }: { readonly block: boolean; readonly users: readonly string[] },
): Promise<readonly string[]> {
  const { blockedUsers = [] } = config;
  const changed = [...new Set(users)].filter((user) => blockedUsers.includes(user) !== block);
  if (changed.length === 0) return changed;
  const left = block ? [...blockedUsers, ...changed] : blockedUsers.filter((user) => !changed.includes(user));
  const others = Object.fromEntries(Object.entries(config).filter(([name]) => name !== 'blockedUsers'));
  const spec = { ...resource.spec, [field]: left.length === 0 ? others : { ...config, blockedUsers: left } };
  await resources.replace({ ...resource, spec }, { expected: [resource.version] });
  return changed;
}
