import { z } from 'zod';
import { mapOf } from './collections.ts';
import { DnsLabel, text } from './primitives.ts';
import type { Rule } from './rule.ts';

const NAME = '^[a-z]([-a-z0-9]*[a-z0-9])?$';
const NAME_LENGTH = 45;

/** Names of children contain the name of their resource, e.g. `mcp-<name>-proxy`, and a Service's name has 63 characters at most. */
export const ResourceName = z
  .string()
  .max(NAME_LENGTH)
  .regex(
    new RegExp(NAME),
    'not a DNS-1035 label; write lower-case letters, digits and hyphens, a letter first, no hyphen last',
  );

export const nameRule: Rule<{ metadata: { name: string } }> = {
  at: [],
  message: `metadata.name must be a DNS-1035 label of at most ${NAME_LENGTH} characters: lower-case letters, digits and hyphens, a letter first`,
  holds: () => true,
  cel: `size(self.metadata.name) <= ${NAME_LENGTH} && self.metadata.name.matches('${NAME}')`,
};

const written = {
  namespace: DnsLabel.optional().describe('Namespace.'),
  labels: mapOf(text(317), z.string().max(63), 256).optional().describe('Labels.'),
  annotations: mapOf(text(317), z.string().max(262_144), 256).optional().describe('Annotations.'),
  uid: text(128).optional(),
  generation: z.int().min(0).optional(),
  creationTimestamp: z.string().max(64).nullable().optional(),
};

const kept = {
  resourceVersion: z.string().optional(),
  deletionTimestamp: z.string().optional(),
  deletionGracePeriodSeconds: z.int().optional(),
  generateName: z.string().optional(),
  selfLink: z.string().optional(),
  finalizers: z.array(z.string()).optional(),
  ownerReferences: z.array(z.unknown()).optional(),
  managedFields: z.array(z.unknown()).optional(),
};

export const ObjectMeta = z.strictObject({ name: ResourceName.describe('Name.'), ...written, ...kept });
export type ObjectMeta = z.infer<typeof ObjectMeta>;

const ForeignName = text(253).regex(
  /^[a-z0-9]([-.a-z0-9]*[a-z0-9])?$/,
  'not the name of an object; write lower-case letters, digits, hyphens and dots',
);

export const ForeignMeta = z.strictObject({ name: ForeignName, ...written, ...kept });
