import type { Aggregation } from '#crds/run-config/aggregation';
import type { Backend } from '#crds/run-config/backend';
import type { ListedEntry } from './fetch-list.ts';
import type { EntryChanges } from './rewrite-entry.ts';

export type ToolSettings = Pick<Backend, 'name' | 'tools_filter' | 'tools_override' | 'authz'>;

export interface Presented {
  readonly backend: string;
  readonly listed: ListedEntry;
  /** Name after overrides, without prefix. */
  readonly name: string;
  /** Its name at the backend's own endpoint. Undefined: the backend has no policies of its own. */
  readonly ownName: string | undefined;
  readonly changes: Omit<EntryChanges, 'name'>;
}

interface Texts {
  readonly name?: string | undefined;
  readonly description?: string | undefined;
  readonly annotations?: EntryChanges['annotations'] | undefined;
}

interface WorkloadSettings {
  readonly filter?: readonly string[] | undefined;
  readonly overrides: Readonly<Record<string, Texts | undefined>>;
  readonly exclude_all: boolean;
}

/** The workload's own settings refer to the names that the backend returns. */
export function presentByItself(backend: ToolSettings, listed: ListedEntry): Presented | undefined {
  if (backend.tools_filter && !backend.tools_filter.includes(listed.name)) return undefined;
  const override = Object.hasOwn(backend.tools_override, listed.name) ? backend.tools_override[listed.name] : undefined;
  const name = override?.name ?? listed.name;
  return {
    backend: backend.name,
    listed,
    name,
    ownName: backend.authz && name,
    changes: override?.description === undefined ? {} : { description: override.description },
  };
}

/** These settings refer to the names after the workload's own settings. */
function presentInAggregate(tool: Presented, settings: readonly WorkloadSettings[]): Presented | undefined {
  let { name, changes } = tool;
  for (const { filter, overrides, exclude_all: excludesAll } of settings) {
    if (excludesAll || (filter && !filter.includes(tool.name))) return undefined;
    const override = Object.hasOwn(overrides, tool.name) ? overrides[tool.name] : undefined;
    name = override?.name ?? name;
    if (override?.description !== undefined) changes = { ...changes, description: override.description };
    if (override?.annotations !== undefined) changes = { ...changes, annotations: override.annotations };
  }
  return { ...tool, name, changes };
}

/** A filter lists the allowed tools, so an empty filter allows none. */
export function presentTools(
  backend: ToolSettings,
  entries: readonly ListedEntry[],
  aggregation: Aggregation,
): Presented[] {
  if (aggregation.exclude_all_tools) return [];
  const settings = aggregation.tools.filter(({ workload }) => workload === backend.name);
  return entries.flatMap((listed) => {
    const own = presentByItself(backend, listed);
    const tool = own && presentInAggregate(own, settings);
    return tool ? [tool] : [];
  });
}

/** A workload has no own settings for prompts. */
export function presentPrompts(
  { name: backend, authz }: ToolSettings,
  entries: readonly ListedEntry[],
  aggregation: Aggregation,
): Presented[] {
  const settings = aggregation.prompts.filter(({ workload }) => workload === backend);
  return entries.flatMap((listed) => {
    const { name } = listed;
    return presentInAggregate({ backend, listed, name, ownName: authz && name, changes: {} }, settings) ?? [];
  });
}
