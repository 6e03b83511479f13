import { pathToFileURL } from 'node:url';
import { getRegistryServer, listRegistries } from '#management/operations/registries';
import type { ImageServer, RemoteServer } from '#management/records/registry-entry';
import type { NewWorkload } from '#management/records/workload';
import { decidesWhatRuns } from '#management/registries/decides-what-runs';
import { programOf } from '#management/registries/workload-of-entry';
import type { Context } from '../context.ts';
import { CliError, EXIT_CODES } from '../exit-codes.ts';
import type { ManagementApi } from '../management/management-api.ts';
import { Refusal } from '../management/refusal.ts';
import { shownLine } from '../shown-output.ts';
import type { Wanted } from './gather-values.ts';

export interface Found {
  name: string;
  body: Pick<
    NewWorkload,
    | 'image'
    | 'url'
    | 'command'
    | 'transport'
    | 'target_port'
    | 'stdio_process'
    | 'oauth_config'
    | 'registry_entry'
    | 'registry_url'
    | 'registry_api_url'
  >;
  wanted: readonly Wanted[];
  remote: boolean;
  notes: string[];
}

interface Entry {
  server?: ImageServer | undefined;
  remote_server?: RemoteServer | undefined;
}

interface NamedSource {
  source: string;
  /** Default: derived from the source. */
  name?: string;
}

/** Looks in the registry, then at its form. @throws CliError when it cannot be run */
export async function findSource(
  api: ManagementApi,
  { source: text, name }: NamedSource,
  { typed }: Pick<Context, 'typed'>,
): Promise<Found> {
  const entry = text.includes('://') ? undefined : await entryOf(api, text);
  const source = classifySource(text, () => entry !== undefined);
  if (source.kind !== 'entry') return { ...foundOf(source), name: name ?? nameOf(source) };
  if (!entry) throw noEntry(text, typed);
  return { ...ofEntry(source.name, entry, await originOf(api)), name: name ?? nameOf(source) };
}

function noEntry(text: string, typed: Context['typed']): CliError {
  return new CliError(
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

type Origin = Pick<NewWorkload, 'registry_url' | 'registry_api_url'>;

async function originOf(api: ManagementApi): Promise<Origin> {
  const { registries } = (await api.call(listRegistries)).body;
  const { type, source = '' } = registries.find(({ name }) => name === 'default') ?? {};
  if (type === 'file') return { registry_url: pathToFileURL(source).href };
  if (type !== 'url' && type !== 'api') return {};
  // The query is omitted, because it may contain credentials.
  const { origin, pathname } = new URL(source);
  return { [type === 'api' ? 'registry_api_url' : 'registry_url']: `${origin}${pathname}` };
}

function foundOf(source: Exclude<Source, { kind: 'entry' }>): Omit<Found, 'name'> {
  const none = { wanted: [], notes: [] };
  if (source.kind === 'url') return { body: { url: source.url }, remote: true, ...none };
  const { image } = source;
  const body = programOf(image) ?? { image };
  if (body.command === undefined && /^(npx|uvx):\/\//.test(image))
    throw new CliError(EXIT_CODES.usage, `${image} is no package: write npx://name@version or uvx://name@version`);
  return { body, remote: false, ...none };
}

function ofEntry(entryName: string, entry: Entry, origin: Origin): Omit<Found, 'name'> {
  const found = whatRuns(entryName, entry);
  return { ...found, body: { ...found.body, ...origin } };
}

function whatRuns(entryName: string, { server, remote_server: remote }: Entry): Omit<Found, 'name'> {
  if (server) return ofImage(entryName, server);
  if (remote) return ofRemote(entryName, remote);
  throw new CliError(EXIT_CODES.failed, `the entry "${entryName}" of the registry says nothing to run`);
}

function ofImage(entryName: string, server: ImageServer): Omit<Found, 'name'> {
  const { image, transport, target_port: port, stdio_process, env_vars: named = [], provenance } = server;
  const program = programOf(image);
  if (!program) {
    const why = `the image of "${entryName}" is none that an engine or a package runner may be given`;
    throw new CliError(EXIT_CODES.failed, `${why}: "${shownLine(image)}"`);
  }
  const { wanted, withheld } = withoutDeciding(named);
  const body = {
    ...program,
    ...(provenance && { registry_entry: entryName }),
    ...(transport && { transport }),
    ...(port !== undefined && port > 0 && { target_port: port }),
    ...(stdio_process && { stdio_process }),
  };
  return { body, wanted, remote: false, notes: [...notesOf(server), ...withheld.map(noteOf)] };
}

function ofRemote(entryName: string, remote: RemoteServer): Omit<Found, 'name'> {
  const { url, transport, headers: wanted = [], oauth_config } = remote;
  if (/[{}]/.test(url)) {
    const remedy = `run vmcp run with the whole of ${shownLine(url)}`;
    throw new CliError(EXIT_CODES.usage, `the URL of "${entryName}" has parts to fill in: ${remedy}`);
  }
  const body = { url, ...(transport && { transport }), ...(oauth_config && { oauth_config }) };
  return { body, wanted, remote: true, notes: notesOf(remote) };
}

/** For an entry, only the image or package decides what runs. */
function withoutDeciding(named: readonly Wanted[]): { wanted: Wanted[]; withheld: string[] } {
  const isHarmless = ({ name }: Wanted) => !decidesWhatRuns(name);
  const withheld = named.filter((one) => !isHarmless(one)).map(({ name }) => shownLine(name));
  return { wanted: named.filter(isHarmless), withheld };
}

const noteOf = (variable: string): string =>
  `The registry names ${variable}, which decides what runs: it gets no value; write --env ${variable}=VALUE if you want it`;

/** The user decides: no arguments or permissions are applied. */
function notesOf(entry: ImageServer | RemoteServer): string[] {
  const args = 'args' in entry ? (entry.args ?? []) : [];
  return [
    ...(entry.status === 'deprecated' ? ['The registry says that this server should not be used any more.'] : []),
    ...(args.length > 0 ? [`The registry suggests the arguments: -- ${shownLine(args.join(' '))}`] : []),
  ];
}

type Source =
  | { kind: 'url'; url: string }
  /** The `image` of a workload: a reference, or `npx://` or `uvx://` with a package. */
  | { kind: 'image'; image: string }
  /** Only a registry entry: a misspelt name must not install a stranger's package. */
  | { kind: 'entry'; name: string };

const PACKAGE = /^(npx|uvx):\/\//;
/** Matches `@scope/name`, `@scope/name@1.2` and `name@1.2`. */
const NPM = /^(@[\w.~-]+\/[\w.~-]+(@[\w.+~-]+)?|[\w.~-]+@[\w.+~-]+)$/;
const MOST = 2048;

/**
 * Takes a package by `npx://`, `uvx://`, an npm scope or version; an image by a slash, tag or digest. Entry names may
 * contain slashes: `isEntry` checks the registry.
 * @throws CliError when no form matches
 */
export function classifySource(text: string, isEntry: (name: string) => boolean): Source {
  if (text === '' || text.length > MOST || /[\s\u0000-\u001f]/.test(text) || text.startsWith('-'))
    throw new CliError(EXIT_CODES.usage, `${JSON.stringify(text.slice(0, 80))} is no entry, package, URL or image`);
  if (/^(\.{1,2}|~)?\//.test(text))
    throw new CliError(
      EXIT_CODES.usage,
      `${text} is a path: for a program of this machine write an MCPServer with its command into the folder of manifests`,
    );
  if (/^https?:\/\//i.test(text)) return { kind: 'url', url: readUrl(text) };
  if (PACKAGE.test(text)) return { kind: 'image', image: text };
  if (isEntry(text)) return { kind: 'entry', name: text };
  if (NPM.test(text)) return { kind: 'image', image: `npx://${text}` };
  if (/[/:]/.test(text)) return { kind: 'image', image: text };
  return { kind: 'entry', name: text };
}

function readUrl(text: string): string {
  const url = URL.parse(text);
  if (!url) throw new CliError(EXIT_CODES.usage, `${text} is no URL that can be read`);
  if (url.username === '' && url.password === '') return text;
  throw new CliError(
    EXIT_CODES.usage,
    'the URL holds a password: leave it out, and send it as a header with --header-secret',
  );
}

const LONGEST = 45;

export function nameOf(source: Source): string {
  const text = textOf(source)
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .replace(/^[^a-z]+/, '')
    .slice(0, LONGEST)
    .replace(/-+$/, '');
  if (text !== '') return text;
  throw new CliError(EXIT_CODES.usage, 'no name can be made of it: give one with --name');
}

function textOf(source: Source): string {
  if (source.kind === 'entry') return source.name.split('/').at(-1) ?? '';
  if (source.kind === 'url') return new URL(source.url).hostname.replace(/^(mcp|www|api)\./, '').split('.')[0] ?? '';
  const [plain = ''] = source.image
    .replace(PACKAGE, '')
    .replace(/@sha256:.*$/, '')
    .split('/')
    .slice(-1);
  return plain.replace(/[@:].*$/, '').replace(/^mcp-server-|^server-|-mcp(-server)?$|-server$/, '');
}
