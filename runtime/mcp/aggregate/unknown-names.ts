import { nearest } from '#crds/parts/nearest';
import type { Aggregation } from '#crds/run-config/aggregation';
import { nameSome } from './describe-conflicts.ts';
import type { BackendList } from './fetch-list.ts';
import { presentByItself, type ToolSettings } from './present-tools.ts';

interface Listed {
  readonly settings: ToolSettings;
  /** All that the backend has returned. With a list per user, there are thousands. */
  readonly lists: (kind: 'tools' | 'prompts') => readonly BackendList[];
}

type Names = ReadonlySet<string>;

/** A misspelt name has no effect or hides the tool that it should allow. Skips backends without a list yet. */
export function describeUnknownNames(backends: readonly Listed[], aggregation: Aggregation): string[] {
  return backends.flatMap((listed) => [...unknownTools(listed, aggregation), ...unknownPrompts(listed, aggregation)]);
}

function unknownTools({ settings, lists }: Listed, aggregation: Aggregation): string[] {
  const { name, tools_filter: filter = [], tools_override: override } = settings;
  const ofWorkload = aggregation.tools.filter(({ workload }) => workload === name);
  const names = [...filter, ...Object.keys(override), ...ofWorkload];
  if (names.length === 0) return [];
  const listed = lists('tools');
  if (listed.length === 0) return [];
  const entries = listed.flatMap((list) => list.entries);
  const original: Names = new Set(entries.map((entry) => entry.name));
  const shown: Names = new Set(entries.flatMap((entry) => presentByItself(settings, entry)?.name ?? []));
  return [
    ...describe(`toolsFilter of ${name}`, 'tool', filter, original),
    ...describe(`toolsOverride of ${name}`, 'tool', Object.keys(override), original),
    ...ofWorkload.flatMap((one) => [
      ...describe(`aggregation.tools filter of ${name}`, 'tool', one.filter ?? [], shown),
      ...describe(`aggregation.tools overrides of ${name}`, 'tool', Object.keys(one.overrides), shown),
    ]),
  ];
}

function unknownPrompts({ settings: { name }, lists }: Listed, aggregation: Aggregation): string[] {
  const ofWorkload = aggregation.prompts.filter(({ workload }) => workload === name);
  if (ofWorkload.length === 0) return [];
  const listed = lists('prompts');
  if (listed.length === 0) return [];
  const original: Names = new Set(listed.flatMap((list) => list.entries.map((entry) => entry.name)));
  return ofWorkload.flatMap(({ filter = [], overrides }) => [
    ...describe(`aggregation.prompts filter of ${name}`, 'prompt', filter, original),
    ...describe(`aggregation.prompts overrides of ${name}`, 'prompt', Object.keys(overrides), original),
  ]);
}

function describe(place: string, noun: string, written: readonly string[], known: Names): string[] {
  const unknown = written.filter((name) => !known.has(name));
  if (unknown.length === 0) return [];
  const all = [...known];
  const meant = unknown.map((name) => {
    const near = nearest(name, all);
    return near === undefined ? `"${name}"` : `"${name}" (did you mean "${near}"?)`;
  });
  return [`${place} names no ${noun} that this backend lists: ${nameSome(meant)}; correct or remove it`];
}
