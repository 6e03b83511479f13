import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { Aggregation } from '#crds/run-config/aggregation';
import { composeNames, type Composed, type NamedList } from './compose-names.ts';
import type { ListedEntry } from './fetch-list.ts';

fc.configureGlobal({ seed: 20_251_125 });

type Settings = Parameters<typeof Aggregation.parse>[0];

const entry = (name: string, more: Record<string, unknown> = {}): ListedEntry => ({
  name,
  text: JSON.stringify({ name, ...more }),
  annotations: undefined,
});
function list(backend: string, names: readonly (string | ListedEntry)[], settings = {}): NamedList {
  return {
    backend: { name: backend, tools_filter: undefined, tools_override: {}, ...settings },
    entries: names.map((name) => (typeof name === 'string' ? entry(name) : name)),
  };
}
const tools = (lists: NamedList[], settings: Settings = {}, max = 60): Composed =>
  composeNames('tools', lists, Aggregation.parse(settings), max);
const names = ({ entries }: Composed) => entries.map(({ name }) => name);
const owners = ({ entries }: Composed) => entries.map(({ name, backend }) => `${name}@${backend}`);

describe('composeNames with a backend that has its own policies', () => {
  const authz = { policies: [] };
  const hints = (readOnlyHint: boolean) => ({ ...entry('close'), annotations: { readOnlyHint } });
  const own = ({ entries }: Composed) => entries.map((one) => one.own);

  it('keeps the name and the hints of the backend’s own endpoint if they differ', () => {
    const overridden = list('pol', ['log', hints(false)], { authz, tools_override: { log: { name: 'history' } } });
    const overrides = { close: { name: 'shut', annotations: { readOnlyHint: true } } };
    const composed = tools([overridden], { tools: [{ workload: 'pol', overrides }] });
    expect(composed.entries).toMatchObject([
      { name: 'pol_history', own: { name: 'history', originalName: 'log', backend: 'pol' } },
      { name: 'pol_shut', annotations: { readOnlyHint: true } },
    ]);
    expect(own(composed)[1]).toEqual({
      name: 'close',
      backend: 'pol',
      originalName: 'close',
      annotations: { readOnlyHint: false },
    });
  });

  it('keeps hints that only the aggregation replaces', () => {
    const overrides = { close: { annotations: { readOnlyHint: true } } };
    const settings: Settings = { prefix_format: '', tools: [{ workload: 'pol', overrides }] };
    expect(own(tools([list('pol', [hints(false)], { authz })], settings))).toMatchObject([
      { name: 'close', annotations: { readOnlyHint: false } },
    ]);
  });

  it('shortens long own names as the backend’s own endpoint does', () => {
    const long = 'x'.repeat(61);
    const [atOwn] = tools([list('pol', [long], { authz })], { conflict_resolution: 'priority' }).entries;
    const [inGroup] = tools([list('pol', [long], { authz })], {}, 128).entries;
    expect(atOwn?.own).toBeUndefined();
    expect(inGroup).toMatchObject({ name: `pol_${long}`, own: { name: atOwn?.name } });
  });

  it('adds no own entry if both names are the same or the backend has no policies', () => {
    const same = tools([list('pol', ['log'], { authz })], { prefix_format: '' });
    expect([...own(same), ...own(tools([list('pol', ['log'])]))]).toEqual([undefined, undefined]);
    const uri = `file:///${'x'.repeat(100)}`;
    expect(own(composeNames('resources', [list('pol', [uri], { authz })], Aggregation.parse({}), 60))).toEqual([
      undefined,
    ]);
  });

  it('keeps the own names of prompts', () => {
    const prompts = composeNames('prompts', [list('pol', ['ask'], { authz })], Aggregation.parse({}), 60);
    expect(prompts.entries).toMatchObject([{ name: 'pol_ask', own: { name: 'ask' } }]);
  });
});

describe('composeNames', () => {
  it('prefixes names with their backend by default', () => {
    const composed = tools([list('git', ['log', 'diff']), list('files', ['diff'])]);
    expect(composed.entries.map(({ name, backend, originalName }) => [name, backend, originalName])).toEqual([
      ['git_log', 'git', 'log'],
      ['git_diff', 'git', 'diff'],
      ['files_diff', 'files', 'diff'],
    ]);
    expect(composed.entries[0]?.text).toBe('{"name":"git_log"}');
  });

  it.each([
    ['{workload}.', 'git.log'],
    ['', 'log'],
    ['x-', 'x-log'],
    ['{workload}-{workload}-', 'git-git-log'],
  ])('applies the prefix format %p', (prefix_format, expected) => {
    expect(names(tools([list('git', ['log'])], { prefix_format }))).toEqual([expected]);
  });

  it('prefixes only colliding names in the mode onConflict', () => {
    const lists = [list('a', ['x', 'y']), list('b', ['x'])];
    expect(names(tools(lists, { prefix_mode: 'onConflict' }))).toEqual(['a_x', 'y', 'b_x']);
    const third = tools([...lists, list('c', ['a_x'])], { prefix_mode: 'onConflict' });
    expect(names(third)).toEqual(['y', 'b_x']);
    expect(third.conflicts.map(({ name }) => name)).toEqual(['a_x']);
  });

  it('gives a name to the first backend in the order of priority', () => {
    const lists = [list('a', ['x', 'only-a']), list('b', ['x', 'y']), list('c', ['y', 'z'])];
    const settings = { conflict_resolution: 'priority', priority_order: ['c', 'unknown'] } as const;
    const composed = tools(lists, settings);
    expect(owners(composed)).toEqual(['x@a', 'only-a@a', 'y@c', 'z@c']);
    expect(composed.conflicts).toEqual([]);
  });

  it('gives a name to the same pair in any list order if one backend has two candidates', () => {
    const renamed = [{ workload: 'a', overrides: { x: { name: 'same' }, y: { name: 'same' } } }];
    const settings = { conflict_resolution: 'priority', tools: renamed } as const;
    for (const listed of [
      ['x', 'y'],
      ['y', 'x'],
    ])
      expect(tools([list('a', listed)], settings).entries.map(({ originalName }) => originalName)).toEqual(['x']);
  });

  it('drops and reports two entries of one name without a conflict strategy', () => {
    const composed = tools([list('a', ['x', 'y']), list('b', ['x'])], { conflict_resolution: 'manual' });
    expect(owners(composed)).toEqual(['y@a']);
    expect(composed.conflicts).toEqual([
      {
        name: 'x',
        pairs: [
          { backend: 'a', originalName: 'x' },
          { backend: 'b', originalName: 'x' },
        ],
      },
    ]);
  });

  it('keeps both entries under manual if overrides rename them', () => {
    const composed = tools([list('a', ['x']), list('b', ['x'])], {
      conflict_resolution: 'manual',
      tools: [{ workload: 'b', overrides: { x: { name: 'bx' } } }],
    });
    expect(composed.entries.map(({ name, originalName }) => [name, originalName])).toEqual([
      ['x', 'x'],
      ['bx', 'x'],
    ]);
    expect(composed.conflicts).toEqual([]);
  });

  it('drops and reports both a_b + c and a + b_c', () => {
    const composed = tools([list('a_b', ['c', 'd']), list('a', ['b_c', 'e'])]);
    expect(names(composed)).toEqual(['a_b_d', 'a_e']);
    expect(composed.conflicts).toEqual([
      {
        name: 'a_b_c',
        pairs: [
          { backend: 'a_b', originalName: 'c' },
          { backend: 'a', originalName: 'b_c' },
        ],
      },
    ]);
  });

  it('detects collisions between names that it shortens', () => {
    const long = 'n'.repeat(80);
    const composed = tools([list('a_b', [long]), list('a', [`b_${long}`])]);
    expect(composed.entries).toEqual([]);
    expect(composed.conflicts).toHaveLength(1);
  });

  it('shortens names with a distinct and stable hash', () => {
    const [first, second] = names(tools([list('a', [`${'n'.repeat(80)}1`, `${'n'.repeat(80)}2`])]));
    expect(first).toBe(`a_${'n'.repeat(49)}_01b536e0`);
    expect(second).toHaveLength(60);
    expect(second).not.toBe(first);
    expect(names(tools([list('a', ['n'.repeat(58)])]))).toEqual([`a_${'n'.repeat(58)}`]);
    expect(names(tools([list('a', ['😀'.repeat(40)])], { prefix_format: '' }))[0]?.isWellFormed()).toBe(true);
  });

  it('keeps the first of two entries that one backend lists under one name', () => {
    const composed = tools([list('a', [entry('x', { n: 1 }), entry('x', { n: 2 })])]);
    expect(composed.entries.map(({ text }) => text)).toEqual(['{"name":"a_x","n":1}']);
  });

  it('composes prompts without filters and overrides', () => {
    const settings = {
      exclude_all_tools: true,
      tools: [{ workload: 'a', filter: [], overrides: { x: { name: 'y' } } }],
    };
    const composed = composeNames('prompts', [list('a', ['x'], { tools_filter: [] })], Aggregation.parse(settings), 60);
    expect(names(composed)).toEqual(['a_x']);
  });
});

describe('composeNames with filters and overrides of tools', () => {
  it('keeps only the tools in the filter', () => {
    const lists = [list('a', ['x', 'y', 'z'], { tools_filter: ['x', 'y'] }), list('b', ['x'])];
    expect(names(tools(lists, { tools: [{ workload: 'a', filter: ['y', 'z'] }] }))).toEqual(['a_y', 'b_x']);
    expect(names(tools(lists, { tools: [{ workload: 'a', filter: [] }] }))).toEqual(['b_x']);
    expect(names(tools(lists, { tools: [{ workload: 'a', exclude_all: true }] }))).toEqual(['b_x']);
    expect(names(tools(lists, { exclude_all_tools: true }))).toEqual([]);
  });

  it('applies the aggregate’s rename to the workload’s own rename', () => {
    const lists = [list('a', ['x'], { tools_override: { x: { name: 'y', description: 'own' } } })];
    const settings = {
      tools: [{ workload: 'a', filter: ['y'], overrides: { y: { name: 'z' }, x: { name: 'wrong' } } }],
    };
    const [tool] = tools(lists, settings).entries;
    expect(tool).toMatchObject({ name: 'a_z', originalName: 'x', text: '{"name":"a_z","description":"own"}' });
  });

  it('changes only name, description and hints', () => {
    const text =
      '{"title":"T","description":"d","inputSchema":{"$schema":"u","$defs":{"name":{"const":1.0}},"name":"n"}, "name" : "x",' +
      '"annotations":{"title":"A","readOnlyHint":false,"x":1},"_meta":{"big":12345678901234567890}}';
    const listed = { name: 'x', text, annotations: { title: 'A', readOnlyHint: false } };
    const overrides = { x: { description: 'é', annotations: { readOnlyHint: true } } };
    const [tool] = tools([list('a', [listed])], { tools: [{ workload: 'a', overrides }] }).entries;
    expect(tool?.text).toBe(
      text
        .replace('"d"', '"é"')
        .replace('"name" : "x"', '"name" : "a_x"')
        .replace('{"title":"A","readOnlyHint":false,"x":1}', '{"title":"A","readOnlyHint":true,"x":1}'),
    );
    expect(tool?.annotations).toEqual({ title: 'A', readOnlyHint: true });
  });

  it('adds members that the backend omitted', () => {
    const overrides = { x: { description: 'd', annotations: { title: 't' } } };
    const [tool] = tools([list('a', ['x'])], { prefix_format: '', tools: [{ workload: 'a', overrides }] }).entries;
    expect(tool?.text).toBe('{"name":"x","description":"d","annotations":{"title":"t"}}');
    expect(tool?.annotations).toEqual({ title: 't' });
  });

  it('keeps an unchanged entry byte for byte', () => {
    const text = '{ "name":"x" , "n":1.00 }';
    const composed = tools([list('a', [{ name: 'x', text, annotations: undefined }])], { prefix_format: '' });
    expect(composed.entries[0]?.text).toBe(text);
  });

  it('advertises one name if the backend wrote two', () => {
    const text = '{"name":"shown","n\\u0061me":"x"}';
    const composed = tools([list('a', [{ name: 'x', text, annotations: undefined }])]);
    expect(composed.entries[0]?.text).toBe('{"name":"a_x"}');
  });

  it('reads no name from the prototype of objects', () => {
    expect(names(tools([list('a', ['constructor', '__proto__'])], { tools: [{ workload: 'a' }] }))).toEqual([
      'a_constructor',
      'a___proto__',
    ]);
  });
});

describe('composeNames with resources', () => {
  it.each(['resources', 'templates'] as const)('keeps URIs and prefers the first backend for a %s of two', (kind) => {
    const lists = [list('a', ['f://1']), list('b', ['f://1', 'f://2'])];
    const compose = (settings: Settings) => owners(composeNames(kind, lists, Aggregation.parse(settings), 16));
    expect(compose({})).toEqual(['f://1@a', 'f://2@b']);
    expect(compose({ conflict_resolution: 'priority', priority_order: ['b'] })).toEqual(['f://1@b', 'f://2@b']);
  });
});

describe('composeNames with arbitrary backends', () => {
  const word = fc.array(fc.constantFrom('a', 'b', '_', 'c'), { minLength: 1, maxLength: 4 }).map((all) => all.join(''));
  const backends = fc
    .uniqueArray(fc.tuple(word, fc.uniqueArray(word, { maxLength: 4 })), { selector: ([name]) => name, maxLength: 5 })
    .map((all) => all.map(([name, entries]) => list(name, entries)));
  const settings = fc.record({
    conflict_resolution: fc.constantFrom('prefix' as const, 'priority' as const, 'manual' as const),
    priority_order: fc.uniqueArray(word, { maxLength: 3 }),
  });
  const pairs = ({ entries }: Composed) =>
    new Map(entries.map(({ name, backend, originalName }) => [JSON.stringify([backend, originalName]), name]));

  it('advertises each name once', () => {
    fc.assert(
      fc.property(backends, settings, (lists, chosen) => {
        const all = names(tools(lists, chosen));
        expect(new Set(all).size).toBe(all.length);
      }),
    );
  });

  it('gives the same names in any list order', () => {
    fc.assert(
      fc.property(backends, settings, fc.nat(), (lists, chosen, turn) => {
        // Under priority, the order of the configuration ranks backends that priority_order omits.
        fc.pre(chosen.conflict_resolution !== 'priority');
        const at = lists.length === 0 ? 0 : turn % lists.length;
        const turned = [...lists.slice(at), ...lists.slice(0, at)].reverse();
        expect([...pairs(tools(turned, chosen))].sort()).toEqual([...pairs(tools(lists, chosen))].sort());
      }),
    );
  });

  it('advertises a pair under the same name or drops it when a backend joins', () => {
    fc.assert(
      fc.property(backends, settings, fc.constantFrom(8, 60), (lists, chosen, max) => {
        const before = pairs(tools(lists.slice(0, -1), chosen, max));
        for (const [pair, name] of pairs(tools(lists, chosen, max)))
          if (before.has(pair)) expect(before.get(pair)).toBe(name);
      }),
    );
  });

  it('drops a pair only for a reported conflict or an earlier backend', () => {
    fc.assert(
      fc.property(backends, settings, (lists, chosen) => {
        const composed = tools(lists, chosen);
        const shown = pairs(composed);
        const reported = new Set(
          composed.conflicts.flatMap((conflict) => conflict.pairs.map((pair) => JSON.stringify(Object.values(pair)))),
        );
        for (const { backend, entries } of lists)
          for (const { name } of entries) {
            const pair = JSON.stringify([backend.name, name]);
            if (chosen.conflict_resolution === 'priority') expect(names(composed)).toContain(name);
            else expect(shown.has(pair)).not.toBe(reported.has(pair));
          }
      }),
    );
  });
});

describe('composeNames with prompts', () => {
  const prompts = (lists: NamedList[], settings: Settings): Composed =>
    composeNames('prompts', lists, Aggregation.parse(settings), 60);

  it('applies the filter, the overrides and excludeAll of the aggregation', () => {
    const lists = [list('a', ['greet', 'plan']), list('b', ['greet']), list('c', ['greet'])];
    const settings = {
      conflict_resolution: 'manual' as const,
      prompts: [
        { workload: 'a', filter: ['greet'] },
        { workload: 'b', overrides: { greet: { name: 'hello', description: 'Says hello' } } },
        { workload: 'c', exclude_all: true },
      ],
    };
    const composed = prompts(lists, settings);
    expect(owners(composed)).toEqual(['greet@a', 'hello@b']);
    expect(composed.entries[1]).toMatchObject({
      originalName: 'greet',
      text: '{"name":"hello","description":"Says hello"}',
    });
    expect(composed.conflicts).toEqual([]);
  });

  it('ignores the settings of tools', () => {
    const settings = { exclude_all_tools: true, tools: [{ workload: 'a', exclude_all: true }] };
    expect(names(prompts([list('a', ['greet'])], settings))).toEqual(['a_greet']);
  });
});

describe('composeNames with URIs of two backends', () => {
  it('keeps the URI of the first backend and reports the others', () => {
    const lists = [list('a', ['x://1']), list('b', ['x://1', 'x://2'])];
    const { entries, shadowed } = composeNames('resources', lists, Aggregation.parse({}), 60);
    expect(entries.map(({ name, backend }) => `${name}@${backend}`)).toEqual(['x://1@a', 'x://2@b']);
    expect(shadowed).toEqual([{ uri: 'x://1', winner: 'a', loser: 'b' }]);
  });
});
