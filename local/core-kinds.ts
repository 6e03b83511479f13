import { isUtf8 } from 'node:buffer';
import { z } from 'zod';
import { text } from '#crds/parts/primitives';
import { mapOf } from '#crds/parts/collections';
import { ForeignMeta } from '#crds/parts/object-meta';

const Key = text(253).regex(/^[-._A-Za-z0-9]+$/, 'not a key; write letters, digits, hyphens, dots and underscores');
const Text = z.string().max(1_048_576);

/** Validates like the API server: padded, and with line breaks as the only white space. */
function isBase64(value: string): boolean {
  const digits = value.replace(/[\r\n]/g, '');
  return digits.length % 4 === 0 && /^[A-Za-z0-9+/]*={0,2}$/.test(digits);
}

const Base64 = Text.refine((value) => isBase64(value), {
  message: 'not base64; encode it, or write the value under stringData',
});

export const Secret = z.strictObject({
  apiVersion: z.literal('v1'),
  kind: z.literal('Secret'),
  metadata: ForeignMeta,
  type: z.string().max(253).optional(),
  immutable: z.boolean().optional(),
  stringData: mapOf(Key, Text, 1000).nullable().optional(),
  data: mapOf(Key, Base64, 1000).nullable().optional(),
});

interface SecretContent {
  readonly values: Record<string, string>;
  /** The values of these keys are not text in UTF-8. */
  readonly binaryKeys: string[];
}

/** Prefers `stringData` to `data`, as the API server does. */
export function readSecretContent({ data, ...secret }: z.infer<typeof Secret>): SecretContent {
  const stringData = secret.stringData ?? {};
  const decoded = Object.entries(data ?? {})
    .filter(([key]) => !Object.hasOwn(stringData, key))
    .map(([key, value]) => [key, Buffer.from(value, 'base64')] as const);
  const texts = decoded.filter(([, bytes]) => isUtf8(bytes)).map(([key, bytes]) => [key, bytes.toString('utf8')]);
  return {
    values: { ...(Object.fromEntries(texts) as Record<string, string>), ...stringData },
    binaryKeys: decoded.filter(([, bytes]) => !isUtf8(bytes)).map(([key]) => key),
  };
}

export const ConfigMap = z.strictObject({
  apiVersion: z.literal('v1'),
  kind: z.literal('ConfigMap'),
  metadata: ForeignMeta,
  immutable: z.boolean().optional(),
  data: mapOf(Key, Text, 1000).default({}),
  binaryData: z.undefined({ error: 'not read from a folder; write text under data' }).optional(),
});
