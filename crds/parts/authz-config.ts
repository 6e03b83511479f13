import { z } from 'zod';
import { oneBlockPerType } from './one-block-per-type.ts';
import { text } from './primitives.ts';
import { configMapKeyRef } from './references.ts';

/** Inline policies, or the content of the ConfigMap key with the policies. */
export const InlineAuthz = z.strictObject({
  policies: z.array(text(16_384)).max(200).default([]).describe('Cedar policies. An empty list denies every request.'),
  entitiesJson: z.string().max(262_144).default('[]').describe('Cedar entities, a JSON array.'),
});
export type InlineAuthz = z.infer<typeof InlineAuthz>;

/** Reads a `cedarv1` document, the form of authorization configurations in records of workloads, as an inline block. */
export const InlineOfCedarDocument = z
  .strictObject({
    version: z.literal('1.0').default('1.0'),
    type: z.literal('cedarv1').default('cedarv1'),
    cedar: z.strictObject({ policies: InlineAuthz.shape.policies, entities_json: InlineAuthz.shape.entitiesJson }),
  })
  .transform(({ cedar: { policies, entities_json: entitiesJson } }): InlineAuthz => ({ policies, entitiesJson }));

/** Permissions of authenticated callers. Absent: all of them may do everything. */
export const AuthzConfig = oneBlockPerType(
  z.strictObject({
    type: z.enum(['inline', 'configMap']).describe('Source of the policies.'),
    mode: z.enum(['enforce', 'audit']).default('enforce').describe('`audit` records denials without enforcing them.'),
    inline: InlineAuthz.optional().describe('The policies, written here.'),
    configMap: configMapKeyRef('authz.json')
      .optional()
      .describe(
        'A ConfigMap key that holds the inline block, or a document with `version`, `type: cedarv1` and `cedar`, as YAML or JSON.',
      ),
  }),
  { inline: { block: 'inline' }, configMap: { block: 'configMap' } },
).describe('Cedar policies. Absent: every authenticated caller may do everything; an empty list denies every request.');
export type AuthzConfig = z.infer<typeof AuthzConfig>;
