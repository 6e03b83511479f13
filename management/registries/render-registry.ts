import type { RegistryContent, RegistryInfo } from '../records/registry.ts';
import type { ImageServer, RemoteServer } from '../records/registry-entry.ts';
import { type RegistrySettings, sourceOf } from './registry-settings.ts';

export function renderRegistryInfo(
  name: string,
  settings: RegistrySettings,
  content: RegistryContent,
  isLoggedIn: boolean,
): RegistryInfo {
  const { auth } = settings;
  return {
    name,
    ...sourceOf(settings),
    version: content.version,
    server_count: serversOf(content).size + remoteServersOf(content).size,
    last_updated: content.last_updated,
    auth_type: auth ? 'oauth' : '',
    auth_status: auth ? (isLoggedIn ? 'authenticated' : 'configured') : 'none',
    ...(auth && {
      auth_config: {
        issuer: auth.issuer,
        client_id: auth.client_id,
        ...(auth.audience !== undefined && { audience: auth.audience }),
        ...(auth.scopes && { scopes: auth.scopes }),
      },
    }),
  };
}

/** Includes servers of groups. */
export function serversOf({ servers, groups }: RegistryContent): Map<string, ImageServer> {
  return named([servers, ...groups.map((group) => group.servers ?? {})]);
}

export function remoteServersOf(content: RegistryContent): Map<string, RemoteServer> {
  return named([content.remote_servers, ...content.groups.map((group) => group.remote_servers ?? {})]);
}

function named<T>(maps: readonly Record<string, T>[]): Map<string, T> {
  const all = new Map<string, T>();
  for (const [name, entry] of maps.flatMap((map) => Object.entries(map)))
    if (!all.has(name)) all.set(name, { ...entry, name });
  return new Map([...all].sort(([a], [b]) => (a < b ? -1 : 1)));
}
