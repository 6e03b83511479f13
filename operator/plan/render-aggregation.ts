import type { AggregationConfig } from '#crds/parts/aggregation';
import type { RunConfigDocument } from '#crds/run-config/run-config';
import { defined } from './defined.ts';

type AggregationDocument = NonNullable<RunConfigDocument['aggregation']>;
type WorkloadTools = NonNullable<AggregationConfig['tools']>[number];

function renderTools({ workload, filter, overrides, excludeAll }: WorkloadTools) {
  const texts = Object.entries(overrides ?? {}).map(([tool, { name, description, annotations }]) => {
    const hints = annotations && defined(annotations);
    return [tool, defined({ name, description, annotations: hints })] as const;
  });
  return defined({
    workload,
    filter,
    overrides: texts.length === 0 ? undefined : Object.fromEntries(texts),
    exclude_all: excludeAll || undefined,
  });
}

type WorkloadPrompts = NonNullable<AggregationConfig['prompts']>[number];

function renderPrompts({ workload, filter, overrides, excludeAll }: WorkloadPrompts) {
  const texts = Object.entries(overrides ?? {}).map(([prompt, text]) => [prompt, defined(text)] as const);
  return defined({
    workload,
    filter,
    overrides: texts.length === 0 ? undefined : Object.fromEntries(texts),
    exclude_all: excludeAll || undefined,
  });
}

export function renderAggregation(config: AggregationConfig): AggregationDocument {
  const resolution = config.conflictResolutionConfig;
  return defined({
    conflict_resolution: config.conflictResolution,
    prefix_format: resolution?.prefixFormat,
    prefix_mode: resolution?.prefixMode,
    priority_order: resolution?.priorityOrder,
    exclude_all_tools: config.excludeAllTools || undefined,
    tools: config.tools?.map(renderTools),
    prompts: config.prompts?.map(renderPrompts),
  });
}
