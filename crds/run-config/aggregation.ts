import { z } from 'zod';
import {
  AggregationConfig,
  ConflictResolution,
  PrefixFormat,
  PrefixMode,
  ToolHints,
  ToolText,
} from '../parts/aggregation.ts';
import { meaning, objectLike } from '../parts/meaning.ts';

const { conflictResolutionConfig, tools, prompts, excludeAllTools, apps } = AggregationConfig.shape;

export const Aggregation = objectLike(AggregationConfig, {
  conflict_resolution: ConflictResolution,
  prefix_format: PrefixFormat,
  prefix_mode: PrefixMode,
  priority_order: meaning(
    conflictResolutionConfig.unwrap().shape.priorityOrder,
    z.array(z.string().max(63)).max(500).default([]),
  ),
  exclude_all_tools: excludeAllTools,
  apps: objectLike(apps, { rewrite_calls: apps.unwrap().shape.rewriteCalls }).optional(),
  tools: z
    .array(
      objectLike(tools, {
        workload: z.string().max(63),
        filter: z.array(z.string().max(256)).max(1000).optional(),
        overrides: z
          .record(
            z.string().max(256),
            objectLike(tools.unwrap().element.shape.overrides, { ...ToolText, annotations: ToolHints.optional() }),
          )
          .default({}),
        exclude_all: z.boolean().default(false),
      }),
    )
    .max(500)
    .default([]),
  prompts: z
    .array(
      objectLike(prompts, {
        workload: z.string().max(63),
        filter: z.array(z.string().max(256)).max(1000).optional(),
        overrides: z.record(z.string().max(256), z.strictObject(ToolText)).default({}),
        exclude_all: z.boolean().default(false),
      }),
    )
    .max(500)
    .default([]),
});
export type Aggregation = z.infer<typeof Aggregation>;
