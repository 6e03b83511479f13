import type { Context } from '../context.ts';
import { shownLine } from '../shown-output.ts';
import { printTable } from '../print-table.ts';
import type { Entry } from './registry-list.ts';

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
