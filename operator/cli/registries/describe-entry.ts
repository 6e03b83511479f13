import type { Context } from '../context.ts';
import { oneLine } from '../one-line.ts';
import { printTable } from '../print-table.ts';
import type { Entry } from './registry-list.ts';

/** An entry of the registry for a terminal: what it is, what it takes, and how to run it. */
export function describeEntry(name: string, entry: Entry, { typed }: Pick<Context, 'typed'>): string[] {
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
    value === undefined || value === '' ? [] : [[`${label}:`, oneLine(value)]],
  );
  return [
    entry.title === undefined || entry.title === name ? oneLine(name) : `${oneLine(name)}: ${oneLine(entry.title)}`,
    ...(entry.description === undefined ? [] : [oneLine(entry.description)]),
    '',
    ...printTable(known),
    ...takenBy(entry),
    '',
    `Run it: ${typed(`run ${oneLine(name)}`)}`,
  ];
}

/** Variables of what is run, headers of what runs elsewhere. */
function takenBy(entry: Entry): string[] {
  const [what, wanted] =
    'url' in entry ? (['header', entry.headers] as const) : (['variable', entry.env_vars] as const);
  if (wanted === undefined || wanted.length === 0) return [];
  const rows = wanted.map(({ name, required, secret, default: usual, description = '' }) => [
    `  ${oneLine(name)}`,
    [required === true ? 'needed' : 'optional', ...(secret === true ? ['secret'] : [])].join(', '),
    oneLine(usual === undefined || usual === '' ? description : `${description} (default ${usual})`),
  ]);
  return ['', `Each ${what} that it takes:`, ...printTable(rows)];
}
