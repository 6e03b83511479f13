import { Problem } from '../problem.ts';
import type { EnvVar, ImageServer, RemoteServer } from '../records/registry-entry.ts';
import type { RegistryContent } from '../records/registry.ts';
import type { NewWorkload } from '../records/workload.ts';
import type { z } from 'zod';
import { decidesWhatRuns } from './decides-what-runs.ts';
import { isImage, readPackageImage } from './image-of-package.ts';
import { remoteServersOf, serversOf } from './render-registry.ts';

type Sent = Omit<NewWorkload, 'name'>;
type FromEntry = Pick<
  Sent,
  'image' | 'command' | 'url' | 'transport' | 'target_port' | 'stdio_process' | 'oauth_config' | 'env_vars'
>;

/** Returns undefined for other texts. An image runs its own entrypoint. */
export function programOf(image: string): Pick<Sent, 'image' | 'command' | 'transport'> | undefined {
  const found = readPackageImage(image);
  if (!found) return isImage(image) ? { image } : undefined;
  const { runner, name, version } = found;
  const which = version === undefined ? name : `${name}@${version}`;
  return { command: runner === 'npx' ? ['npx', '-y', which] : ['uvx', which], transport: 'stdio' };
}

/** Uses the last part of the entry's name; undefined if that has no usable characters. */
export function nameOfEntry(entry: string): string | undefined {
  const name = (entry.split('/').at(-1) ?? '')
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .replace(/^[^a-z]+/, '')
    .slice(0, 45)
    .replace(/-+$/, '');
  return name === '' ? undefined : name;
}

/**
 * Returns none if the workload names an image, command or URL. Ignores the entry's arguments and permissions.
 * @throws Problem `bad_request`
 */
export function workloadOfEntry(entryName: string, sent: Sent, content: RegistryContent): FromEntry {
  if (sent.image !== undefined || sent.command !== undefined || sent.url !== undefined) return {};
  const server = serversOf(content).get(entryName);
  if (server) return ofImage(entryName, server, sent);
  const remote = remoteServersOf(content).get(entryName);
  if (remote) return ofRemote(entryName, remote);
  throw refused(`the default registry has no server "${entryName}"`);
}

const refused = (why: string): Problem => new Problem('bad_request', `body registry_entry: ${why}`);

function ofImage(entryName: string, server: ImageServer, sent: Sent): FromEntry {
  const { image, transport, target_port: port, stdio_process, env_vars: named = [] } = server;
  const program = programOf(image);
  if (!program) throw refused(`the image of "${entryName}" is none that an engine or a package runner may be given`);
  const variables = variablesOf(entryName, named, sent);
  return {
    ...program,
    ...(transport && { transport }),
    ...(port !== undefined && port > 0 && { target_port: port }),
    ...(stdio_process && { stdio_process }),
    ...(Object.keys(variables).length > 0 && { env_vars: variables }),
  };
}

function variablesOf(entryName: string, named: readonly z.infer<typeof EnvVar>[], sent: Sent): Record<string, string> {
  const given = new Set([
    ...Object.keys(sent.env_vars ?? {}),
    ...(sent.secrets ?? []).map(({ name, target }) => target ?? name.split('/')[1] ?? ''),
  ]);
  const wanted = named.filter(({ name, required }) => required === true && !given.has(name) && !decidesWhatRuns(name));
  const missing = wanted.filter(({ default: usual = '', secret }) => usual === '' || secret === true);
  if (missing.length > 0) {
    const names = missing.map(({ name, secret }) => (secret === true ? `${name} (in secrets)` : name));
    throw refused(`"${entryName}" needs values that were not sent: write ${names.join(', ')} in env_vars or secrets`);
  }
  return { ...Object.fromEntries(wanted.map(({ name, default: usual = '' }) => [name, usual])), ...sent.env_vars };
}

function ofRemote(entryName: string, { url, transport, oauth_config }: RemoteServer): FromEntry {
  if (/[{}]/.test(url)) throw refused(`the URL of "${entryName}" has parts to fill in: write url`);
  return { url, ...(transport && { transport }), ...(oauth_config && { oauth_config }) };
}
