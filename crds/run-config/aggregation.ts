import { z } from 'zod';

const Hints = z.strictObject({
  title: z.string().max(1024).optional(),
  readOnlyHint: z.boolean().optional(),
  destructiveHint: z.boolean().optional(),
  idempotentHint: z.boolean().optional(),
  openWorldHint: z.boolean().optional(),
});

/** How the lists of all backends become one. */
export const Aggregation = z.strictObject({
  conflict_resolution: z.enum(['prefix', 'priority', 'manual']).default('prefix'),
  prefix_format: z.string().max(256).default('{workload}_'),
  prefix_mode: z.enum(['always', 'onConflict']).default('always'),
  priority_order: z.array(z.string().max(63)).max(500).default([]),
  exclude_all_tools: z.boolean().default(false),
  tools: z
    .array(
      z.strictObject({
        workload: z.string().max(63),
        filter: z.array(z.string().max(256)).max(1000).optional(),
        overrides: z
          .record(
            z.string().max(256),
            z.strictObject({
              name: z.string().max(256).optional(),
              description: z.string().max(65_536).optional(),
              annotations: Hints.optional(),
            }),
          )
          .default({}),
        exclude_all: z.boolean().default(false),
      }),
    )
    .max(500)
    .default([]),
});
export type Aggregation = z.infer<typeof Aggregation>;
