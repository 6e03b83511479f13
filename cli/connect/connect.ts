import { readLocalStatus } from '#local/local-status-file';
import { checkUrl, type EndpointOptions, urlOf } from '../choose-url.ts';
import type { Context } from '../context.ts';
import { CliError, EXIT_CODES } from '../exit-codes.ts';
import { findLocalStatus } from '../find-local-status.ts';
import { isCluster } from '../management/target.ts';
import { quoted } from '../name-program.ts';
import { printObject } from '../print-object.ts';
import { printTable } from '../print-records.ts';
import { chooseServer } from '../status.ts';
import { CLIENTS, findClient, type Home, homeOf, type McpClient } from '#management/clients/files/clients';
import { UnreadableConfig } from '#management/clients/files/config-editor';
import { EDITORS, entryIn, putEntry } from '#management/clients/files/edit-config';
import { changeFile, ForeignFile, readClientFile } from '#management/clients/files/write-config';

export interface ConnectOptions extends EndpointOptions {
  write: boolean;
  replace: boolean;
  /** Default: the name of the server. */
  name?: string;
  /** Default: the URL of the server. */
  url?: string;
  /** `name` applies to the list only. */
  output: 'table' | 'json' | 'name';
}

interface Endpoint {
  name: string;
  url: string;
}

async function endpointOf(options: ConnectOptions, context: Context): Promise<Endpoint> {
  const { name, url, server } = options;
  if (url !== undefined) return { name: name ?? 'vmcp', url: checkUrl(url) };
  const chosen = chooseServer(await findLocalStatus(options, context), server);
  return { name: name ?? chosen.name, url: urlOf(chosen, options, context) };
}

/** @throws UnreadableConfig */
function knownUrl(client: McpClient, name: string, home: Home): string | undefined {
  const entry = entryIn(readClientFile(client.file(home)) ?? '', client.format, client.table, name);
  if (entry === undefined) return undefined;
  const url = entry[client.url];
  return typeof url === 'string' ? url : 'another kind of server';
}

function stateOf(client: McpClient, endpoint: Endpoint | undefined, home: Home): string {
  try {
    if (readClientFile(client.file(home)) === undefined) return 'no configuration yet';
    if (!endpoint) return 'configuration found';
    const url = knownUrl(client, endpoint.name, home);
    if (url === undefined) return `without ${endpoint.name}`;
    return url === endpoint.url ? 'connected' : `${endpoint.name} is ${url}`;
  } catch (problem) {
    if (problem instanceof UnreadableConfig || problem instanceof ForeignFile)
      return `cannot be read: ${problem.message}`;
    throw problem;
  }
}

export async function listClients(options: ConnectOptions, context: Context): Promise<number> {
  const home = homeOf(context.environment);
  const isNamed = options.url !== undefined || isCluster(options);
  const endpoint = isNamed || readLocalStatus(context.state) ? await endpointOf(options, context) : undefined;
  const rows = CLIENTS.map((client) => ({
    client: client.id,
    name: client.name,
    file: client.file(home),
    state: stateOf(client, endpoint, home),
  }));
  if (options.output === 'json') context.out.write(printObject(rows, 'json'));
  else if (options.output === 'name') context.out.write(rows.map(({ client }) => `${client}\n`).join(''));
  else {
    const table = rows.map(({ client, name, state, file }) => [client, name, state, file]);
    context.out.write(`${printTable([['CLIENT', 'NAME', 'STATE', 'CONFIGURATION'], ...table]).join('\n')}\n`);
    context.err.write(`${context.typed('connect <client>')} prints what to add; with --write it is added\n`);
  }
  return EXIT_CODES.ok;
}

function clientNamed(id: string): McpClient {
  const client = findClient(id);
  if (client) return client;
  throw new CliError(
    EXIT_CODES.usage,
    `there is no client "${id}" (there is: ${CLIENTS.map((one) => one.id).join(', ')})`,
  );
}

function connecting({ id }: McpClient, { name, url, server }: ConnectOptions, { typed }: Context): string {
  const given = Object.entries({ name, url, server }).flatMap(([option, value]) =>
    value === undefined ? [] : [`--${option} ${quoted(value)}`],
  );
  return typed(['connect', id, ...given].join(' '));
}

function printSnippet(client: McpClient, { name, url }: Endpoint, options: ConnectOptions, context: Context): void {
  const file = client.file(homeOf(context.environment));
  const entry = client.entry(name, url);
  const text = EDITORS[client.format].print(client.table, name, entry);
  if (options.output === 'json') {
    const { id, format, table } = client;
    context.out.write(printObject({ client: id, file, format, table, name, entry, text }, 'json'));
    return;
  }
  const command = client.command ? `\nor run: ${client.command(name, url)}` : '';
  context.err.write(
    `Add this to ${file} (${connecting(client, options, context)} --write does it), then ${client.after}:${command}\n`,
  );
  context.out.write(`${text}\n`);
}

/** @throws CliError for another server of this name */
function checkFree(client: McpClient, { name, url }: Endpoint, replace: boolean, home: Home): void {
  const known = knownUrl(client, name, home);
  if (known === undefined || known === url || replace) return;
  throw new CliError(
    EXIT_CODES.conflict,
    `${client.file(home)} already has "${name}" (${known}): choose another --name, or write --replace`,
  );
}

function writeEntry(client: McpClient, endpoint: Endpoint, options: ConnectOptions, context: Context): void {
  const home = homeOf(context.environment);
  const { name, url } = endpoint;
  const file = client.file(home);
  try {
    checkFree(client, endpoint, options.replace, home);
    const same = knownUrl(client, name, home) === url;
    const written = same
      ? { file, changed: false }
      : changeFile(file, (text) => putEntry(text, client.format, client.table, name, client.entry(name, url)));
    if (options.output === 'json') context.out.write(printObject({ client: client.id, name, url, ...written }, 'json'));
    else if (!written.changed) context.out.write(`${client.name} has ${name} already (${file})\n`);
    else {
      const kept = written.backup === undefined ? '' : `; before: ${written.backup}`;
      context.out.write(`${client.name} has ${name} now: ${url} (${file}${kept})\nNext: ${client.after}\n`);
    }
  } catch (problem) {
    if (!(problem instanceof UnreadableConfig)) throw problem;
    const message = `${file} cannot be read: ${problem.message}; nothing was written. Mend it, or add the entry by hand (${connecting(client, options, context)})`;
    throw new CliError(EXIT_CODES.failed, message, { cause: problem });
  }
}

export async function connect(id: string, options: ConnectOptions, context: Context): Promise<number> {
  const client = clientNamed(id);
  if (options.output === 'name')
    throw new CliError(EXIT_CODES.usage, '-o name is for the list of clients: leave the client out');
  const endpoint = await endpointOf(options, context);
  if (options.write) writeEntry(client, endpoint, options, context);
  else printSnippet(client, endpoint, options, context);
  return EXIT_CODES.ok;
}
