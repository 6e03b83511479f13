import { RegistryContent } from '../records/registry.ts';
import type { ImageServer, RemoteServer } from '../records/registry-entry.ts';
import { Package, Remote, ServerEntry } from './server-json.ts';
import { defined } from '#operator/plan/defined';
import { imageOfPackage } from './image-of-package.ts';

/** Skips deleted, outdated, malformed and unusable entries, so that one entry cannot make a registry unusable. */
export function mapServers(values: readonly unknown[]): RegistryContent {
  const entries = values.flatMap((value) => {
    const entry = ServerEntry.safeParse(value).data;
    return entry === undefined || isGone(entry) ? [] : [entry];
  });
  const servers = mapped(entries, mapPackage);
  const remotes = mapped(entries, mapRemote);
  const lastUpdated = entries.map((entry) => updatedAt(entry) ?? '').reduce((a, b) => (a > b ? a : b), '');
  return RegistryContent.parse({ servers, remote_servers: remotes, last_updated: lastUpdated });
}

/** On duplicate names, the first entry wins. */
function mapped<T>(entries: readonly ServerEntry[], map: (entry: ServerEntry) => T | undefined): Record<string, T> {
  const found = entries.flatMap((entry): [string, T][] => {
    const one = map(entry);
    return one === undefined ? [] : [[entry.server.name, one]];
  });
  return Object.fromEntries(found.reverse());
}

const officialOf = ({ _meta: meta }: ServerEntry) => meta?.['io.modelcontextprotocol.registry/official'];

function updatedAt(entry: ServerEntry): string | undefined {
  const official = officialOf(entry);
  return official?.updatedAt ?? official?.publishedAt;
}

function isGone(entry: ServerEntry): boolean {
  const official = officialOf(entry);
  return official?.status === 'deleted' || official?.isLatest === false;
}

function mapPackage(entry: ServerEntry): ImageServer | undefined {
  for (const value of entry.server.packages ?? []) {
    const found = Package.safeParse(value).data;
    const image = found === undefined ? undefined : imageOfPackage(found);
    if (found === undefined || image === undefined) continue;
    const port = Number(URL.parse(found.transport.url ?? '')?.port ?? '');
    return {
      ...describeEntry(entry),
      image,
      transport: found.transport.type,
      ...(port > 0 && { target_port: port }),
      args: fixedArguments(found),
      env_vars: (found.environmentVariables ?? []).map((one) => ({
        name: one.name,
        ...describeInput(one),
      })),
    };
  }
  return undefined;
}

function mapRemote(entry: ServerEntry): RemoteServer | undefined {
  for (const value of entry.server.remotes ?? []) {
    const found = Remote.safeParse(value).data;
    if (found === undefined || found.type === 'stdio' || !/^https?:\/\//.test(found.url)) continue;
    return {
      ...describeEntry(entry),
      url: found.url,
      transport: found.type,
      headers: (found.headers ?? []).map((one) => ({
        name: one.name,
        ...describeInput(one),
        ...(one.choices && { choices: one.choices }),
      })),
    };
  }
  return undefined;
}

function describeEntry(entry: ServerEntry) {
  const { name, title, description, repository, version, websiteUrl } = entry.server;
  const updated = updatedAt(entry);
  const isDeprecated = officialOf(entry)?.status === 'deprecated';
  return defined({
    name,
    title,
    description,
    repository_url: repository?.url,
    status: isDeprecated ? ('deprecated' as const) : ('active' as const),
    metadata: updated === undefined ? undefined : { last_updated: updated },
    custom_metadata: defined({ version, website_url: websiteUrl }),
  });
}

type Described = NonNullable<Package['environmentVariables']>[number];

function describeInput({ description, isRequired = false, isSecret = false, value, default: usual }: Described) {
  const given = usual ?? (isSecret ? undefined : value);
  return {
    ...(description !== undefined && { description }),
    required: isRequired,
    secret: isSecret,
    ...(given !== undefined && { default: given }),
  };
}

/** Ignores runtime arguments, e.g. of a container engine. */
function fixedArguments({ packageArguments = [] }: Package): string[] {
  return packageArguments.flatMap(({ type, name, value }) => {
    if (type === 'positional') return value === undefined ? [] : [value];
    if (name === undefined) return [];
    return value === undefined ? [] : [name, value];
  });
}
