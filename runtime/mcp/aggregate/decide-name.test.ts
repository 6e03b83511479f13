import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { Aggregation } from '#crds/run-config/aggregation';
import type { NamedList } from './compose-names.ts';
import { composeToMap, decideName, type AwaitedList } from './decide-name.ts';
import { LIST_KINDS } from './list-kinds.ts';

fc.configureGlobal({ seed: 20_251_125 });

type Settings = Parameters<typeof Aggregation.parse>[0];

const backendOf = (name: string) => ({ name, tools_filter: undefined, tools_override: {} });
const entriesOf = (names: readonly string[]) =>
  names.map((name) => ({ name, text: JSON.stringify({ name }), annotations: undefined }));
const list = (name: string, names: readonly string[]): NamedList => ({
  backend: backendOf(name),
  entries: entriesOf(names),
});
/** Creates a list that has not arrived. */
const awaited = (name: string): AwaitedList => ({ backend: backendOf(name), entries: undefined });
const decide = (name: string, lists: AwaitedList[], settings: Settings = {}, max = 60) =>
  decideName('tools', name, lists, Aggregation.parse(settings), max);
const owner = (decided: ReturnType<typeof decide>) => decided && (decided.entry?.backend ?? 'nobody');

describe('decideName', () => {
  it('decides a prefixed name by its own backend alone', () => {
    const lists = [list('git', ['log']), awaited('files')];
    expect(owner(decide('git_log', lists))).toBe('git');
    expect(owner(decide('git_nothing', lists))).toBe('nobody');
    expect(decide('files_read', lists)).toBeUndefined();
    expect(owner(decide('unheard of', lists))).toBe('nobody');
  });

  it('waits for a backend that could have the same name', () => {
    expect(decide('a_b_c', [list('a', ['b_c']), awaited('a_b')])).toBeUndefined();
    expect(owner(decide('a_b_c', [list('a', ['b_c']), list('a_b', ['c'])]))).toBe('nobody');
    const long = 'x'.repeat(40);
    expect(decide(`${long.slice(0, 21)}_0123abcd`, [list('a', []), awaited(long)], {}, 30)).toBeUndefined();
  });

  it('waits for all lists under manual names and under conflict-dependent prefixes', () => {
    const lists = [list('git', ['log']), awaited('files')];
    expect(decide('log', lists, { conflict_resolution: 'manual' })).toBeUndefined();
    expect(decide('log', lists, { prefix_mode: 'onConflict' })).toBeUndefined();
  });

  it('waits for backends of higher priority only', () => {
    const settings: Settings = { conflict_resolution: 'priority', priority_order: ['first'] };
    const [first, second, third] = [list('first', ['x']), list('second', ['y']), list('third', ['y'])];
    expect(owner(decide('x', [awaited('second'), first], settings))).toBe('first');
    expect(decide('y', [second, awaited('first')], settings)).toBeUndefined();
    expect(owner(decide('y', [awaited('third'), second, first].reverse(), settings))).toBe('second');
    expect(decide('y', [awaited('second'), third, first], settings)).toBeUndefined();
  });

  it('decides as if all lists had arrived, for any lists and settings', () => {
    const word = fc
      .array(fc.constantFrom('a', 'b', '_', 'c'), { minLength: 1, maxLength: 5 })
      .map((all) => all.join(''));
    const backends = fc.uniqueArray(fc.tuple(word, fc.uniqueArray(word, { maxLength: 4 }), fc.boolean()), {
      selector: ([name]) => name,
      minLength: 1,
      maxLength: 5,
    });
    const settings = fc.record({
      conflict_resolution: fc.constantFrom('prefix' as const, 'priority' as const, 'manual' as const),
      prefix_mode: fc.constantFrom('always' as const, 'onConflict' as const),
      prefix_format: fc.constantFrom('{workload}_', '{workload}', '', 'x.{workload}.'),
      priority_order: fc.uniqueArray(word, { maxLength: 3 }),
    });
    let early = 0;
    fc.assert(
      fc.property(
        backends,
        settings,
        fc.constantFrom(...LIST_KINDS),
        word,
        fc.constantFrom(14, 60),
        fc.boolean(),
        (all, written, kind, random, max, staysAway) => {
          const aggregation = Aggregation.parse(written);
          const lists = all.map(([name, names]) => list(name, names));
          const now = all.map(([name, names, isThere]) => (isThere ? list(name, names) : awaited(name)));
          // Lists that do not arrive in time are omitted.
          const later = staysAway ? lists.filter((_, index) => all[index]?.[2]) : lists;
          const whole = composeToMap(kind, later, aggregation, max);
          for (const name of [...whole.keys(), random]) {
            const decided = decideName(kind, name, now, aggregation, max);
            if (decided && all.some(([, , isThere]) => !isThere)) early++;
            if (decided) expect(decided.entry).toEqual(whole.get(name));
          }
        },
      ),
      { numRuns: 3_000 },
    );
    expect(early).toBeGreaterThan(1_000);
  });
});
