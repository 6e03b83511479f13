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

/** Returns the output of a watch over these successive lists. */
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

describe('watchRecords', () => {
  it('prints new, changed and removed records once', async () => {
    const lists = [[a], [a], [a, b], [{ ...a, size: '2' }, b], [b]];
    expect(await watched(lists, 'table')).toBe('NAME  SIZE\na  1\nb  -\na  2\na  2  gone\n');
    expect(await watched(lists, 'name')).toBe('a\nb\na\na  gone\n');
  });

  it('distinguishes records of one name by their id', async () => {
    const lists = [[a], [a, { ...a, size: '2' }], [a, { ...a, size: '2' }], [{ ...a, size: '2' }]];
    const bySize = { ...listing, id: ({ name, size }: Cup) => `${name}/${size}` };
    expect(await watched(lists, 'table', false, bySize)).toBe('NAME  SIZE\na  1\na  2\na  1  gone\n');
  });

  it('prints one JSON object a line, and one YAML document each', async () => {
    const lines = (await watched([[a], []], 'json')).trimEnd().split('\n');
    expect(lines.map((line) => JSON.parse(line) as unknown)).toEqual([
      { event: 'changed', item: a },
      { event: 'gone', item: a },
    ]);
    expect(await watched([[a]], 'yaml')).toBe('---\nevent: changed\nitem:\n  name: a\n  size: "1"\n');
  });

  it('redraws a table in place on a terminal, no wider than the terminal', async () => {
    const printed = await watched([[{ name: 'a'.repeat(30), size: '1' }], []], 'table', true);
    expect(printed).toContain(`${'a'.repeat(19)}…\n`);
    expect(printed).toContain('\u001B[2A\u001B[Jno cups: npx make\n');
  });

  it('rejects with the error of the list', async () => {
    const failing = watchRecords(
      { list: () => Promise.reject(new Error('gone away')), listing, format: 'json' },
      { out: { write: () => undefined }, typed },
      new AbortController().signal,
    );
    await expect(failing).rejects.toThrow('gone away');
  });
});
