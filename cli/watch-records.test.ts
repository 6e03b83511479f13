import { describe, expect, it } from '@jest/globals';
import type { RecordFormat } from './context.ts';
import type { Listing } from './print-records.ts';
import { watchRecords } from './watch-records.ts';

interface Cup {
  name: string;
  size: string;
}

const typed = (command: string): string => `npx ${command}`;
const listing = {
  columns: ['NAME', 'SIZE'],
  row: ({ name, size }: Cup) => [name, size],
  name: ({ name }: Cup) => name,
  none: (typed: (command: string) => string) => `no cups: ${typed('make')}`,
};

/** What is printed while the list is each of these in turn. */
async function watched(
  lists: Cup[][],
  format: RecordFormat,
  isTTY = false,
  shown: Listing<Cup> = listing,
): Promise<string> {
  const stop = new AbortController();
  let printed = '';
  const left = [...lists];
  const list = () => {
    const next = left.shift() ?? [];
    if (left.length === 0) stop.abort();
    return Promise.resolve(next);
  };
  const out = { isTTY, columns: 20, write: (text: string) => (printed += text) };
  await watchRecords({ list, listing: shown, format, every: 1 }, { out, typed }, stop.signal);
  return printed;
}

const a = { name: 'a', size: '1' };
const b = { name: 'b', size: '' };

describe('a list that is watched', () => {
  it('prints what comes, changes and goes, and nothing twice', async () => {
    const lists = [[a], [a], [a, b], [{ ...a, size: '2' }, b], [b]];
    expect(await watched(lists, 'table')).toBe('NAME  SIZE\na  1\nb  -\na  2\na  2  gone\n');
    expect(await watched(lists, 'name')).toBe('a\nb\na\na  gone\n');
  });

  it('tells records of one name apart, where something else does', async () => {
    const lists = [[a], [a, { ...a, size: '2' }], [a, { ...a, size: '2' }], [{ ...a, size: '2' }]];
    const bySize = { ...listing, id: ({ name, size }: Cup) => `${name}/${size}` };
    expect(await watched(lists, 'table', false, bySize)).toBe('NAME  SIZE\na  1\na  2\na  1  gone\n');
  });

  it('is one object a line in JSON, and one document each in YAML', async () => {
    const lines = (await watched([[a], []], 'json')).trimEnd().split('\n');
    expect(lines.map((line) => JSON.parse(line) as unknown)).toEqual([
      { event: 'changed', item: a },
      { event: 'gone', item: a },
    ]);
    expect(await watched([[a]], 'yaml')).toBe('---\nevent: changed\nitem:\n  name: a\n  size: "1"\n');
  });

  it('is a table on a terminal, redrawn in its place and no wider than it', async () => {
    const printed = await watched([[{ name: 'a'.repeat(30), size: '1' }], []], 'table', true);
    expect(printed).toContain(`${'a'.repeat(19)}…\n`);
    expect(printed).toContain('\u001B[2A\u001B[Jno cups: npx make\n');
  });

  it('ends with the failure of what lists', async () => {
    const failing = watchRecords(
      { list: () => Promise.reject(new Error('gone away')), listing, format: 'json' },
      { out: { write: () => undefined }, typed },
      new AbortController().signal,
    );
    await expect(failing).rejects.toThrow('gone away');
  });
});
