import { getRegistryServer } from '#operator/management/operations/registries';
import type { ImageServer, RemoteServer } from '#operator/management/records/registry-entry';
import type { NewWorkload } from '#operator/management/records/workload';
import { readPackageImage } from '#operator/management/registries/image-of-package';
import type { Context } from '../context.ts';
import { CliError, EXIT_CODES } from '../exit-codes.ts';
import type { ManagementApi } from '../management/management-api.ts';
import { Refusal } from '../management/refusal.ts';
import { classifySource, nameOf, type Source } from './classify-source.ts';
import type { Wanted } from './gather-values.ts';

/** What would run, before anybody was asked for anything. */
export interface Found {
  /** What the workload would be called. */
  name: string;
  body: Pick<NewWorkload, 'image' | 'url' | 'command' | 'transport' | 'target_port' | 'oauth_config'>;
  /** Variables, or headers of what runs elsewhere, that it takes. */
  wanted: readonly Wanted[];
  remote: boolean;
  /** What a person should know. */
  notes: string[];
}

interface Entry {
  server?: ImageServer | undefined;
  remote_server?: RemoteServer | undefined;
}

/** Finds what was named: in the registry, or by its form. @throws CliError where it is nothing that can be run */
export async function findSource(api: ManagementApi, text: string, { typed }: Pick<Context, 'typed'>): Promise<Found> {
  const entry = text.includes('://') ? undefined : await entryOf(api, text);
  const source = classifySource(text, () => entry !== undefined);
  if (source.kind !== 'entry') return foundOf(source);
  if (entry) return ofEntry(source.name, entry);
  throw new CliError(
    EXIT_CODES.notFound,
    `there is no entry "${text}" in the registry: see "${typed('registry search')}"; for an npm package write npx://${text}, for one of Python uvx://${text}, for an image its tag, too`,
  );
}

async function entryOf(api: ManagementApi, serverName: string): Promise<Entry | undefined> {
  try {
    return (await api.call(getRegistryServer, { params: { name: 'default', serverName } })).body;
  } catch (problem) {
    const isNone = problem instanceof Refusal && (problem.code === 'not_found' || problem.code === 'bad_request');
    if (isNone) return undefined;
    throw problem;
  }
}

function foundOf(source: Exclude<Source, { kind: 'entry' }>): Found {
  const name = nameOf(source);
  const none = { wanted: [], notes: [] };
  if (source.kind === 'url') return { name, body: { url: source.url }, remote: true, ...none };
  return { name, body: programOf(source.image), remote: false, ...none };
}

/** How a package is started; an image is started by what it says itself. */
function programOf(image: string): Pick<NewWorkload, 'image' | 'command' | 'transport'> {
  if (!/^(npx|uvx):\/\//.test(image)) return { image };
  const found = readPackageImage(image);
  if (!found)
    throw new CliError(EXIT_CODES.usage, `${image} is no package: write npx://name@version or uvx://name@version`);
  const { runner, name, version } = found;
  const which = version === undefined ? name : `${name}@${version}`;
  return { command: runner === 'npx' ? ['npx', '-y', which] : ['uvx', which], transport: 'stdio' };
}

function ofEntry(entryName: string, { server, remote_server: remote }: Entry): Found {
  const name = nameOf({ kind: 'entry', name: entryName });
  if (server) {
    const { image, transport, target_port: port, env_vars: wanted = [] } = server;
    const body = {
      ...programOf(image),
      ...(transport && { transport }),
      ...(port !== undefined && port > 0 && { target_port: port }),
    };
    return { name, body, wanted, remote: false, notes: notesOf(server) };
  }
  if (!remote) throw new CliError(EXIT_CODES.failed, `the entry "${entryName}" of the registry says nothing to run`);
  if (/[{}]/.test(remote.url)) {
    throw new CliError(
      EXIT_CODES.usage,
      `the URL of "${entryName}" has parts to fill in: run vmcp run with the whole of ${remote.url}`,
    );
  }
  const { url, transport, headers: wanted = [], oauth_config } = remote;
  const body = { url, ...(transport && { transport }), ...(oauth_config && { oauth_config }) };
  return { name, body, wanted, remote: true, notes: notesOf(remote) };
}

/** What an entry says of arguments and rights is told and never applied: whoever runs it decides. */
function notesOf(entry: ImageServer | RemoteServer): string[] {
  const args = 'args' in entry ? (entry.args ?? []) : [];
  return [
    ...(entry.status === 'deprecated' ? ['The registry says that this server should not be used any more.'] : []),
    ...(args.length > 0 ? [`The registry suggests the arguments: -- ${args.join(' ')}`] : []),
  ];
}
