import { listOptions, output, type Parts, timeoutOption } from '../command-parts.ts';
import type { Context, RecordFormat } from '../context.ts';
import { withoutFolder } from '../management/command.ts';
import { printObject } from '../print-object.ts';
import { printRecords, printTable } from '../print-records.ts';
import { shownLine } from '../shown-output.ts';
import { type ListOptions, showRecords } from '../watch-records.ts';
import type { Entry } from './registry-list.ts';
import type { SourceOptions } from './set-registry.ts';

const HELP = `
The registry says which servers there are, and what each takes: vmcp run <entry> starts one. vmcp brings a list along; vmcp registry set reads
another one, from a file, a URL, or a service that speaks the API of the official registry. In a cluster there is the registry "cluster", too:
what runs in the namespace.`;

function addList(parts: Parts): void {
  const command = parts.program
    .command('list')
    .alias('ls')
    .description('list the registries: where they are read from, and how many servers they have')
    .examples('vmcp registry list', 'vmcp registry list -o json');
  withoutFolder<ListOptions>(parts, listOptions(command), async (_, { api, options, context, stop }) => {
    const { listRegistries } = await import('#management/operations/registries');
    const { REGISTRIES } = await import('./registry-list.ts');
    const list = async () => (await api.call(listRegistries)).body.registries;
    await showRecords({ list, listing: REGISTRIES }, options, context, stop);
  });
}

function addSearch(parts: Parts): void {
  const command = parts.program
    .command('search')
    .description('find servers by words of their name, title, description or tags; without words: all')
    .argument('[word...]', 'words that a server must have, all of them')
    .option('--registry <registry>', 'which registry', 'default')
    .addOption(output('table', 'json', 'yaml', 'name'))
    .examples('vmcp registry search', 'vmcp registry search git issues');
  interface Options {
    output: RecordFormat;
    registry: string;
  }
  withoutFolder<Options>(parts, command, async (words, { api, options, context }) => {
    const { listRegistryServers } = await import('#management/operations/registries');
    const { ENTRIES } = await import('./registry-list.ts');
    const search = words.join(' ');
    const query = search === '' ? {} : { search };
    const { body } = await api.call(listRegistryServers, { params: { name: options.registry }, query });
    const found = [...body.servers, ...body.remote_servers];
    const sorted = found.sort((a, b) => ((a.name ?? '') < (b.name ?? '') ? -1 : 1));
    printRecords(sorted, ENTRIES, options.output, context);
  });
}

function addInfo(parts: Parts): void {
  const command = parts.program
    .command('info')
    .description('say what a server is, and what it takes')
    .argument('<entry>', 'its name in the registry')
    .option('--registry <registry>', 'which registry', 'default')
    .addOption(output('table', 'json', 'yaml'))
    .examples('vmcp registry info github', 'vmcp registry info github -o json');
  interface Options {
    output: 'table' | 'json' | 'yaml';
    registry: string;
  }
  withoutFolder<Options>(parts, command, async ([entry = ''], { api, options, context }) => {
    const { getRegistryServer } = await import('#management/operations/registries');
    const params = { name: options.registry, serverName: entry };
    const { server, remote_server: remote } = (await api.call(getRegistryServer, { params })).body;
    const found = server ?? remote;
    if (options.output !== 'table') context.out.write(printObject(found, options.output));
    else if (found) context.out.write(`${describeEntry(entry, found, context).join('\n')}\n`);
  });
}

function addSet(parts: Parts): void {
  const command = parts.program
    .command('set')
    .description('read the registry from somewhere else')
    .argument('<from>', 'a file of this machine, or the URL of one')
    .option('--api', 'the URL speaks the API of the official registry (v0.1)', false)
    .option('--allow-private-ip', 'it may be at a private address, and there speak plain http', false)
    .option('--issuer <url>', 'log in: issuer of the tokens')
    .option('--client-id <id>', 'log in: OAuth client that vmcp is')
    .option(
      '--client-secret-key <key>',
      'log in as itself: key of the stored secret (vmcp secret set); without, a person does',
    )
    .option('--audience <audience>', 'log in: what the tokens are for')
    .option('--scope <scope...>', 'log in: scopes to ask for')
    .option('--no-wait', 'do not wait for the person who has to log in')
    .addOption(timeoutOption('how long to wait for the login', '10m'))
    .addHelpText(
      'after',
      '\nWhat cannot be read is not taken over. A file has to be where vmcp runs, and there is none in a cluster.',
    )
    .examples(
      'vmcp registry set servers.json',
      'vmcp registry set https://registry.example.com --api',
      'vmcp registry set https://mcp.example.com/servers.json --issuer https://id.example.com --client-id vmcp',
    );
  withoutFolder<SourceOptions & { wait: boolean; timeout: number }>(
    parts,
    command,
    async ([source = ''], { api, options, context, stop }) => {
      const { setRegistry } = await import('./set-registry.ts');
      await setRegistry(api, source, options, context, stop);
    },
  );
}

function addRemove(parts: Parts): void {
  const command = parts.program
    .command('rm')
    .description('forget what vmcp registry set set: the list that vmcp brings along is the registry again')
    .examples('vmcp registry rm');
  withoutFolder(parts, command, async (_, { api, context }) => {
    const { updateRegistry } = await import('#management/operations/registries');
    const { body } = await api.call(updateRegistry, { params: { name: 'default' }, body: {} });
    context.err.write(`the registry is what vmcp brings along: ${body.server_count} servers\n`);
  });
}

export function addRegistries(parts: Parts): void {
  const group = parts.program
    .command('registry')
    .description('find MCP servers to run, and say where they are looked up')
    .addHelpText('after', HELP)
    .examples('vmcp registry search git', 'vmcp registry info github');
  for (const add of [addList, addSearch, addInfo, addSet, addRemove]) add({ ...parts, program: group });
}

function describeEntry(name: string, entry: Entry, { typed }: Pick<Context, 'typed'>): string[] {
  const rows: [string, string | undefined][] = [
    ['Status', entry.status],
    ['Tier', entry.tier],
    ['Runs', 'url' in entry ? entry.url : entry.image],
    ['Transport', entry.transport],
    ['Arguments', 'args' in entry ? entry.args?.join(' ') : undefined],
    ['Tools', entry.tools?.join(', ')],
    ['Tags', entry.tags?.join(', ')],
    ['Source', entry.repository_url],
  ];
  const known = rows.flatMap(([label, value]): [string, string][] =>
    value === undefined || value === '' ? [] : [[`${label}:`, shownLine(value)]],
  );
  return [
    entry.title === undefined || entry.title === name
      ? shownLine(name)
      : `${shownLine(name)}: ${shownLine(entry.title)}`,
    ...(entry.description === undefined ? [] : [shownLine(entry.description)]),
    '',
    ...printTable(known),
    ...takenBy(entry),
    '',
    `Run it: ${typed(`run ${shownLine(name)}`)}`,
  ];
}

function takenBy(entry: Entry): string[] {
  const [what, wanted] =
    'url' in entry ? (['header', entry.headers] as const) : (['variable', entry.env_vars] as const);
  if (wanted === undefined || wanted.length === 0) return [];
  const rows = wanted.map(({ name, required, secret, default: usual, description = '' }) => [
    `  ${shownLine(name)}`,
    [required === true ? 'needed' : 'optional', ...(secret === true ? ['secret'] : [])].join(', '),
    shownLine(usual === undefined || usual === '' ? description : `${description} (default ${usual})`),
  ]);
  return ['', `Each ${what} that it takes:`, ...printTable(rows)];
}
