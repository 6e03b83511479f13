import { describe, expect, it } from '@jest/globals';
import { Aggregation } from '#crds/run-config/aggregation';
import type { BackendList } from './fetch-list.ts';
import { describeUnknownNames } from './unknown-names.ts';

type Settings = Parameters<typeof Aggregation.parse>[0];

function listOf(...names: string[]): BackendList {
  const entries = names.map((name) => ({ name, text: JSON.stringify({ name }), annotations: undefined }));
  return { entries, ttlMs: undefined, isPublic: false };
}

const settings = { name: 'memory', tools_filter: undefined, tools_override: {} };

function unknown(aggregation: Settings, own: Partial<typeof settings> | object, ...tools: BackendList[]): string[] {
  const given = { tools, prompts: [listOf('greet')] };
  const listed = { settings: { ...settings, ...own }, lists: (kind: keyof typeof given) => given[kind] };
  return describeUnknownNames([listed], Aggregation.parse(aggregation));
}

const tools = (...names: string[]) => [listOf(...names)];

describe('describeUnknownNames', () => {
  it('names misspelt filters or overrides of the aggregation, and the nearest name', () => {
    const overrides = { 'open-nodes': { name: 'open' } };
    const aggregation = { tools: [{ workload: 'memory', filter: ['serch_nodes', 'open_nodes'], overrides }] };
    expect(unknown(aggregation, {}, ...tools('search_nodes', 'open_nodes'))).toEqual([
      'aggregation.tools filter of memory names no tool that this backend lists: "serch_nodes" (did you mean "search_nodes"?); correct or remove it',
      'aggregation.tools overrides of memory names no tool that this backend lists: "open-nodes" (did you mean "open_nodes"?); correct or remove it',
    ]);
  });

  it('names misspelt settings of the workload itself', () => {
    const own = { tools_filter: ['search'], tools_override: { nothing_like_it: { name: 'x' } } };
    expect(unknown({}, own, ...tools('search'))).toEqual([
      'toolsOverride of memory names no tool that this backend lists: "nothing_like_it"; correct or remove it',
    ]);
  });

  it('compares the aggregation’s names with those that the workload shows', () => {
    const own = { tools_override: { search: { name: 'find' } } };
    const aggregation = { tools: [{ workload: 'memory', filter: ['find'] }] };
    expect(unknown(aggregation, own, ...tools('search'))).toEqual([]);
    expect(unknown({ tools: [{ workload: 'memory', filter: ['search'] }] }, own, ...tools('search'))).toHaveLength(1);
  });

  it('names misspelt prompts', () => {
    const aggregation = {
      prompts: [{ workload: 'memory', filter: ['greet'], overrides: { great: { name: 'hello' } } }],
    };
    expect(unknown(aggregation, {})).toEqual([
      'aggregation.prompts overrides of memory names no prompt that this backend lists: "great" (did you mean "greet"?); correct or remove it',
    ]);
  });

  it('accepts a name that any list of the backend has', () => {
    const aggregation = { tools: [{ workload: 'memory', filter: ['a', 'b'] }] };
    expect(unknown(aggregation, {}, listOf('a'), listOf('b'))).toEqual([]);
  });

  it('reads no list of a backend without filters and overrides', () => {
    const read = () => {
      throw new Error('read');
    };
    expect(describeUnknownNames([{ settings, lists: read }], Aggregation.parse({}))).toEqual([]);
  });

  it('ignores other backends and backends without a list', () => {
    expect(unknown({ tools: [{ workload: 'memory', filter: ['x'] }] }, {})).toEqual([]);
    expect(unknown({ tools: [{ workload: 'other', filter: ['x'] }] }, {}, ...tools('a'))).toEqual([]);
  });

  it('names the first five of many', () => {
    const filter = Array.from({ length: 8 }, (_, nr) => `missing-entry-number-${nr}`);
    const [said] = unknown({ tools: [{ workload: 'memory', filter }] }, {}, ...tools('a'));
    expect(said).toContain('"missing-entry-number-4" and 3 more');
  });
});
