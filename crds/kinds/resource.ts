import { z } from 'zod';
import { nameRule, ObjectMeta } from '../parts/object-meta.ts';
import { withRules } from '../parts/rule.ts';

export const VERSION = 'v1alpha1';
const REMEDY = `write <api_group>/${VERSION}`;

export function resource<K extends string, Spec extends z.ZodType, Status extends z.ZodType>(
  kind: K,
  spec: Spec,
  status: Status,
) {
  const whole = z.strictObject({
    apiVersion: z
      .string({ error: (issue) => (issue.input === undefined ? `required field is missing; ${REMEDY}` : undefined) })
      .max(260)
      .regex(/^[a-z0-9]([-.a-z0-9]*[a-z0-9])?\/v1alpha1$/, `not an API version of this kind; ${REMEDY}`),
    kind: z.literal(kind),
    metadata: ObjectMeta,
    spec: spec.describe('Desired state.'),
    status: status.optional().describe('Observed state. Only the operator writes it.'),
  });
  return withRules(whole, nameRule);
}
