import { z } from 'zod';
import { durationBetween, ToolName } from './primitives.ts';
import { listByKey } from './collections.ts';
import { type Rule, withRules } from './rule.ts';

const Period = durationBetween('1s', '24h');
const Amount = z.int().min(1).max(1_000_000);

const Bucket = z.strictObject({
  maxTokens: Amount.describe('Requests that may come at once.'),
  refillPeriod: Period.describe('Time in which an empty bucket fills again.'),
});

export const RateLimitRule = z.strictObject({
  requests: Amount.describe('Requests that are let through.'),
  per: Period.describe('In this time.'),
  scope: z.enum(['global', 'user', 'tool']).describe('Counted over all, for each user, or for the tool.'),
  tool: ToolName.optional().describe('Only calls of this tool, by advertised name.'),
  onStoreFailure: z
    .enum(['open', 'closed'])
    .default('closed')
    .describe('Let requests through or refuse them while the store cannot be asked.'),
});

const toolIsNamed: Rule<z.infer<typeof RateLimitRule>> = {
  at: ['tool'],
  message: 'scope tool needs the tool; write its name, or another scope',
  holds: ({ scope, tool }) => scope !== 'tool' || tool !== undefined,
  cel: "self.scope != 'tool' || has(self.tool)",
};

const ToolBuckets = z.strictObject({
  name: ToolName.describe('Advertised name of the tool.'),
  shared: Bucket.optional().describe('Over all users.'),
  perUser: Bucket.optional().describe('For each user.'),
});

export const RateLimitingConfig = z.strictObject({
  rules: z
    .array(withRules(RateLimitRule, toolIsNamed))
    .max(100)
    .optional()
    .describe('Each of them must let a request through.'),
  shared: Bucket.optional().describe('One bucket over all users.'),
  perUser: Bucket.optional().describe('A bucket for each user.'),
  tools: listByKey(ToolBuckets, 500, 'name').optional().describe('Buckets of single tools.'),
});
export type RateLimitingConfig = z.infer<typeof RateLimitingConfig>;
