import { isUtf8 } from 'node:buffer';
import { z } from 'zod';
import { mapOf } from '#crds/parts/collections';
import { ForeignMeta } from '#crds/parts/object-meta';

const Key = z
  .string()
  .min(1)
  .max(253)
  .regex(/^[-._A-Za-z0-9]+$/, 'not a key; write letters, digits, hyphens, dots and underscores');
const Text = z.string().max(1_048_576);

/** Validates base64 as the API server does: padded, and with line breaks as the only white space. */
function isBase64(value: string): boolean {
  const digits = value.replace(/[\r\n]/g, '');
  return digits.length % 4 === 0 && /^[A-Za-z0-9+/]*={0,2}$/.test(digits);
}

const Base64 = Text.refine((value) => isBase64(value), {
  message: 'not base64; encode it, or write the value under stringData',
  abort: true,
}).refine((value) => isUtf8(Buffer.from(value, 'base64')), 'not text in UTF-8; only text can be read from a folder');

/** The fields of a Kubernetes Secret that a folder may hold. */
export const Secret = z.strictObject({
  apiVersion: z.literal('v1'),
  kind: z.literal('Secret'),
  metadata: ForeignMeta,
  type: z.string().max(253).optional(),
  immutable: z.boolean().optional(),
  stringData: mapOf(Key, Text, 1000).optional(),
  data: mapOf(Key, Base64, 1000).nullable().optional(),
});

/** Returns the values by key; `stringData` wins over `data`, as in the API server. */
export function readSecretValues({ data, stringData }: z.infer<typeof Secret>): Record<string, string> {
  const decoded = Object.entries(data ?? {}).map(([key, value]) => [
    key,
    Buffer.from(value, 'base64').toString('utf8'),
  ]);
  return { ...(Object.fromEntries(decoded) as Record<string, string>), ...stringData };
}

export const ConfigMap = z.strictObject({
  apiVersion: z.literal('v1'),
  kind: z.literal('ConfigMap'),
  metadata: ForeignMeta,
  immutable: z.boolean().optional(),
  data: mapOf(Key, Text, 1000).default({}),
  binaryData: z.undefined({ error: 'not read from a folder; write text under data' }).optional(),
});
