import { Argument } from 'commander';
import { CLIENTS as KNOWN } from '#management/clients/files/clients';
import type { Client, RegisteredClient } from '#management/records/client';
import { isInside } from '../choose-url.ts';
import { listOptions, output, type Parts } from '../command-parts.ts';
import type { Context, Format } from '../context.ts';
import { changeEach } from '../management/change-each.ts';
import { throughApi } from '../management/command.ts';
import { printObject } from '../print-object.ts';
import type { Listing } from '../print-records.ts';
import { type ListOptions, showRecords } from '../watch-records.ts';

const HELP = `
A client that is registered has the endpoints of its groups in its configuration file, as long as it is: they are changed when an endpoint
is, and taken out again by vmcp client rm. Everything else in the file stays, comments too, and the former text is kept beside it. In a cluster, which has
no files of clients, what to add is printed. For one endpoint, once, there is vmcp connect.`;

const CLIENTS: Listing<Client> = {
  columns: ['CLIENT', 'GROUPS'],
  row: ({ name, groups }) => [name, groups.length === 0 ? 'all' : groups.join(', ')],
  name: ({ name }) => name,
  none: (typed) => `no client is registered: ${typed('client register <client>')} registers one`,
};

function addList(parts: Parts): void {
  const command = parts.program
    .command('list')
    .alias('ls')
    .description('list the clients that are registered')
    .examples('vmcp client list', 'vmcp client list -o json');
  throughApi<ListOptions>(parts, listOptions(command), async (_, { api, options, context, stop }) => {
    const { listClients } = await import('#management/operations/clients');
    const list = async () => (await api.call(listClients)).body.clients;
    await showRecords({ list, listing: CLIENTS }, options, context, stop);
  });
}

function addRegister(parts: Parts): void {
  const command = parts.program
    .command('register')
    .description('give clients the endpoints of groups, in place of those that they had')
    .addArgument(new Argument('<client...>', 'which').choices(KNOWN.map(({ id }) => id)))
    .option('-g, --group <group...>', 'groups; without, those of every group, of later ones, too')
    .option('--force', 'take the place of entries of the same name that are not of vmcp', false)
    .addOption(output('table', 'json', 'yaml'))
    .examples(
      'vmcp client register cursor',
      'vmcp client register claude-code codex --group dev',
      'vmcp client register zed --context production -n team-a',
    );
  interface Options {
    group?: string[];
    force: boolean;
    output: Format;
  }
  throughApi<Options>(parts, command, async (names, { api, options, context }) => {
    const { registerClients } = await import('#management/operations/clients');
    const { group: groups = [], force, output: format } = options;
    const query = { force: force ? 'true' : 'false' } as const;
    const { body } = await api.call(registerClients, { query, body: { names, groups } });
    if (format === 'table') for (const client of body) tellClient(client, context);
    else context.out.write(printObject(body, format));
  });
}

export function tellClient(
  { name, configuration }: RegisteredClient,
  { out, err }: Pick<Context, 'out' | 'err'>,
): void {
  const { file, written, backup, servers, text, after } = configuration;
  const names = Object.keys(servers).join(', ');
  if (names === '') err.write(`${name} is registered, and gets its endpoints when they are served\n`);
  else if (written) {
    const before = backup === undefined ? '' : `; before: ${backup}`;
    err.write(`${name} has ${names} (${file ?? ''}${before})\nNext: ${after}\n`);
  } else {
    err.write(`Add this to the configuration of ${name}, then ${after}:\n`);
    out.write(`${text}\n`);
    const inside = Object.values(servers).filter(isInside);
    if (inside.length > 0)
      err.write(
        `only pods of the cluster reach ${inside.join(', ')}: write the URL that clients use as incomingAuth.resourceUrl\n`,
      );
  }
}

function addRemove(parts: Parts): void {
  const command = parts.program
    .command('rm')
    .description('forget clients, and take out of their files what vmcp wrote')
    .argument('<client...>', 'which')
    .examples('vmcp client rm cursor');
  throughApi(parts, command, async (names, { api, context }) => {
    const { deleteClient } = await import('#management/operations/clients');
    await changeEach(names, async (name) => {
      await api.call(deleteClient, { params: { name } });
      context.err.write(`${name} is not registered any more\n`);
    });
  });
}

export function addClients(parts: Parts): void {
  const group = parts.program
    .command('client')
    .description('register MCP clients with groups: their configuration follows the endpoints')
    .addHelpText('after', HELP)
    .examples('vmcp client register cursor', 'vmcp client list');
  for (const add of [addList, addRegister, addRemove]) add({ ...parts, program: group });
}
