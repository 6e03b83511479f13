import { z } from 'zod';
import { ConflictResolution, PrefixFormat, PrefixMode, ToolHints, ToolText } from '../parts/aggregation.ts';

/** How the lists of all backends are merged. */
export const Aggregation = z.strictObject({
  conflict_resolution: ConflictResolution,
  prefix_format: PrefixFormat,
  prefix_mode: PrefixMode,
  priority_order: z.array(z.string().max(63)).max(500).default([]).describe('Backends, the most important first.'),
  exclude_all_tools: z.boolean().default(false).describe('Offer no tools at all.'),
  tools: z
    .array(
      z.strictObject({
        workload: z.string().max(63).describe('Name of the backend.'),
        filter: z.array(z.string().max(256)).max(1000).optional().describe('Only these tools, by original name.'),
        overrides: z
          .record(
            z.string().max(256),
            z.strictObject({ ...ToolText, annotations: ToolHints.optional().describe('Hints in place of its own.') }),
          )
          .default({})
          .describe('Original tool name to what replaces its own texts.'),
        exclude_all: z.boolean().default(false).describe('Offer none of its tools.'),
      }),
    )
    .max(500)
    .default([])
    .describe('Filter and overrides of each backend.'),
  prompts: z
    .array(
      z.strictObject({
        workload: z.string().max(63).describe('Name of the backend.'),
        filter: z.array(z.string().max(256)).max(1000).optional().describe('Only these prompts, by original name.'),
        overrides: z
          .record(z.string().max(256), z.strictObject(ToolText))
          .default({})
          .describe('Original prompt name to what replaces its own texts.'),
        exclude_all: z.boolean().default(false).describe('Offer none of its prompts.'),
      }),
    )
    .max(500)
    .default([])
    .describe('Filter and overrides of the prompts of each backend.'),
});
export type Aggregation = z.infer<typeof Aggregation>;
