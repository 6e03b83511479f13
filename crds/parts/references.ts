import { z } from 'zod';
import { exactlyOne, needs, withRules } from './rule.ts';
import { ObjectName, text } from './primitives.ts';

const Key = text(253)
  .regex(/^[-._A-Za-z0-9]+$/, 'not a key; write letters, digits, hyphens, dots and underscores')
  .describe('Key of its data.');

export const SecretKeyRef = z
  .strictObject({ name: ObjectName.describe('Name of the Secret, in the same namespace.'), key: Key })
  .meta({ refersTo: 'Secret' })
  .describe('A key of a Secret.');
export type SecretKeyRef = z.infer<typeof SecretKeyRef>;

export const configMapKeyRef = (key: string) =>
  z
    .strictObject({ name: ObjectName.describe('Name of the ConfigMap, in the same namespace.'), key: Key.default(key) })
    .describe('A key of a ConfigMap.');

const CA_BUNDLE_KEY = 'ca.crt';

export const CaBundleRef = withRules(
  z.strictObject({
    configMapRef: configMapKeyRef(CA_BUNDLE_KEY).optional().describe('ConfigMap key with PEM certificates.'),
    name: ObjectName.optional().describe('Name of the ConfigMap: the short form of configMapRef.'),
    key: Key.optional().describe('Key of its data, with `name`; ca.crt where it is left out.'),
  }),
  exactlyOne('configMapRef', 'name'),
  needs(['key'], ['name']),
).describe('Certificate authorities that are trusted besides the usual ones.');
export type CaBundleRef = z.infer<typeof CaBundleRef>;

export function caBundleOf(ref: CaBundleRef): { name: string; key: string } {
  return ref.configMapRef ?? { name: ref.name ?? '', key: ref.key ?? CA_BUNDLE_KEY };
}

/** Returns the schema of another object's name in the same namespace, as a plain text. */
export const nameOf = (kind: string) => ObjectName.meta({ refersTo: kind });

export const named = (kind: string) =>
  z.strictObject({ name: ObjectName.describe(`Name of the ${kind}.`) }).meta({ refersTo: kind });
