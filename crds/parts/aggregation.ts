import { z } from 'zod';
import { listByKey, mapOf } from './collections.ts';
import { DEFAULTS } from './defaults.ts';
import { DnsLabel, ToolName } from './primitives.ts';
import { type Rule, withRules } from './rule.ts';

export const ToolHints = z.strictObject({
  title: z.string().max(1024).optional().describe('Title for people.'),
  readOnlyHint: z.boolean().optional().describe('The tool does not modify its environment.'),
  destructiveHint: z.boolean().optional().describe('May destroy something.'),
  idempotentHint: z.boolean().optional().describe('A second call has no further effect.'),
  openWorldHint: z.boolean().optional().describe('Talks to an open world.'),
});

export const ToolText = {
  name: ToolName.optional().describe('Name in place of its own.'),
  description: z.string().max(65_536).optional().describe('Description in place of its own.'),
};

export const ToolsOverride = mapOf(ToolName, z.strictObject(ToolText), 1000);
export const ToolsFilter = z.array(ToolName).max(1000);

const WorkloadTools = z.strictObject({
  workload: DnsLabel.describe('Name of the backend.'),
  filter: ToolsFilter.optional().describe('Only these tools, by original name.'),
  overrides: mapOf(
    ToolName,
    z.strictObject({ ...ToolText, annotations: ToolHints.optional().describe('Hints in place of its own.') }),
    1000,
  )
    .optional()
    .describe('Original tool name to what replaces its own texts.'),
  excludeAll: z.boolean().default(false).describe('Offer none of its tools.'),
});

const WorkloadPrompts = z.strictObject({
  workload: DnsLabel.describe('Name of the backend.'),
  filter: ToolsFilter.optional().describe('Only these prompts, by original name.'),
  overrides: mapOf(ToolName, z.strictObject(ToolText), 1000)
    .optional()
    .describe('Original prompt name to what replaces its own texts.'),
  excludeAll: z.boolean().default(false).describe('Offer none of its prompts.'),
});

export const ConflictResolution = z
  .enum(['prefix', 'priority', 'manual'])
  .default('prefix')
  .describe(
    '`prefix`: names get the prefix of their backend; `priority`: the first backend keeps a name; `manual`: overrides tell them apart.',
  );
export const PrefixFormat = z
  .string()
  .max(256)
  .default(DEFAULTS.prefixFormat)
  .describe('Prefix; {workload} stands for the name of the backend.');
export const PrefixMode = z
  .enum(['always', 'onConflict'])
  .default('always')
  .describe('`onConflict` prefixes only names that occur twice, so that a new backend may change names.');

const Fields = z.strictObject({
  conflictResolution: ConflictResolution,
  conflictResolutionConfig: z
    .strictObject({
      prefixFormat: PrefixFormat,
      prefixMode: PrefixMode,
      priorityOrder: z.array(DnsLabel).max(500).optional().describe('Backends, the most important first.'),
    })
    .optional()
    .describe('Settings of the conflict resolution.'),
  tools: listByKey(WorkloadTools, 500, 'workload').optional().describe('Filter and overrides of each backend.'),
  prompts: listByKey(WorkloadPrompts, 500, 'workload')
    .optional()
    .describe('Filter and overrides of the prompts of each backend.'),
  excludeAllTools: z.boolean().default(false).describe('Offer no tools at all.'),
  apps: z
    .strictObject({
      rewriteCalls: z
        .boolean()
        .default(false)
        .describe('Inserts a script into each app, so that its calls get the names of its own backend’s tools.'),
    })
    .optional()
    .describe('Apps of tools.'),
});

const priorityNeedsOrder: Rule<z.infer<typeof Fields>> = {
  at: ['conflictResolution'],
  message: 'priority needs conflictResolutionConfig.priorityOrder; write the backends there, the most important first',
  holds: (value) =>
    value.conflictResolution !== 'priority' || (value.conflictResolutionConfig?.priorityOrder?.length ?? 0) > 0,
  cel: "self.conflictResolution != 'priority' || (has(self.conflictResolutionConfig) && has(self.conflictResolutionConfig.priorityOrder) && self.conflictResolutionConfig.priorityOrder.size() > 0)",
};

export const AggregationConfig = withRules(Fields, priorityNeedsOrder);
export type AggregationConfig = z.infer<typeof AggregationConfig>;
