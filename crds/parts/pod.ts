import { z } from 'zod';
import { mapOf } from './collections.ts';
import { DnsLabel, text } from './primitives.ts';
import { exactlyOne, type Rule, withRules } from './rule.ts';

const QUANTITY = '^[+-]?([0-9]{1,20}([.][0-9]{0,20})?|[.][0-9]{1,20})([KMGTPE]i|[numkMGTPE]|[eE][+-]?[0-9]{1,3})?$';

const NOT_QUANTITY = 'not a quantity; write for example 500m, 1 or 256Mi';

const Quantity = z
  .union([z.int().min(0), z.string().max(64).regex(new RegExp(QUANTITY), NOT_QUANTITY)], { error: NOT_QUANTITY })
  .meta({
    structural: {
      anyOf: [{ type: 'integer' }, { type: 'string' }],
      'x-kubernetes-int-or-string': true,
      pattern: QUANTITY,
      maxLength: 64,
    },
  });

const NOT_COUNT = 'not a count or percentage; write for example 1 or 50%';
const COUNT_OR_PERCENT = '^[0-9]{1,6}%?$';

const CountOrPercent = z
  .union([z.int().min(0).max(1_000_000), z.string().max(8).regex(new RegExp(COUNT_OR_PERCENT), NOT_COUNT)], {
    error: NOT_COUNT,
  })
  .meta({
    structural: {
      anyOf: [{ type: 'integer' }, { type: 'string' }],
      'x-kubernetes-int-or-string': true,
      pattern: COUNT_OR_PERCENT,
      maxLength: 8,
    },
  });

export const Resources = z.strictObject({
  requests: mapOf(text(253), Quantity, 32).optional().describe('Requested resources.'),
  limits: mapOf(text(253), Quantity, 32).optional().describe('Resource limits.'),
  claims: z
    .array(
      z.strictObject({
        name: DnsLabel.describe('Name of an entry of the pod’s resourceClaims.'),
        request: text(253).optional().describe('Name of one request of that claim.'),
      }),
    )
    .max(32)
    .optional()
    .describe('Claims of dynamic resources.'),
});

/** Path below `spec` of the template's list of Secrets, which the writer must be allowed to read. */
export const TEMPLATE_PULL_SECRETS = ['podTemplateSpec', 'spec', 'imagePullSecrets'] as const;

/** A PodTemplateSpec that is merged over the rendered one; the planner checks the result. */
export const PodTemplateSpec = z.looseObject({}).meta({
  structural: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
});

export const PodDisruptionBudget = withRules(
  z.strictObject({
    minAvailable: CountOrPercent.optional().describe('Pods that must stay.'),
    maxUnavailable: CountOrPercent.optional().describe('Pods that may be missing.'),
  }),
  exactlyOne('minAvailable', 'maxUnavailable'),
);

const Scaling = z.strictObject({
  minReplicas: z.int().min(1).max(1000).default(1).describe('Fewest pods.'),
  maxReplicas: z.int().min(1).max(1000).describe('Most pods.'),
  targetCPU: z.int().min(1).max(1000).default(80).describe('CPU use to aim for, percent of the request.'),
});

const ordered: Rule<z.infer<typeof Scaling>> = {
  at: ['minReplicas'],
  message: 'greater than maxReplicas; write a smaller number',
  holds: ({ minReplicas, maxReplicas }) => minReplicas <= maxReplicas,
  cel: 'self.minReplicas <= self.maxReplicas',
};

export const Autoscaling = withRules(Scaling, ordered);

export const Replicas = z.int().min(0).max(1000);
