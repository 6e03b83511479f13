import { createHash } from 'node:crypto';
import { gunzipSync } from 'node:zlib';
import { LONGEST_DOCUMENT } from '#operator/plan/document-size';
import type { KubeObject } from '../api/object.ts';

const FILE = 'run-config.yaml';
/** Names of other files in a runtime's Secret end with a dash and 16 digits. */
const DIGEST_PREFIX = 'config.';

interface Texts {
  data?: Record<string, string>;
  binaryData?: Record<string, string>;
}

function fileOf({ data, binaryData }: KubeObject & Texts): Buffer | undefined {
  const text = data?.[FILE];
  if (text !== undefined) return Buffer.from(text);
  const packed = binaryData?.[FILE];
  return packed === undefined ? undefined : Buffer.from(packed, 'base64');
}

/** Returns the SHA-256 (hex) of a ConfigMap's document, as reported by a runtime that uses it. */
export function digestOfDocument(configMap: KubeObject): string | undefined {
  const file = fileOf(configMap);
  return file && createHash('sha256').update(file).digest('hex');
}

/** Returns the names of allowed digests: empty files of the Secret, without which a runtime serves no file (runtime/listed-files.ts). */
export function allowedDigestsOf({ data = {}, binaryData = {} }: KubeObject & Texts): string[] {
  const files = [
    ...Object.entries(data).map(([name, text]) => [name, Buffer.from(text)] as const),
    ...Object.entries(binaryData).map(([name, packed]) => [name, Buffer.from(packed, 'base64')] as const),
  ];
  return files.map(
    ([name, bytes]) => `${DIGEST_PREFIX}${createHash('sha256').update(`${name}\n`).update(bytes).digest('hex')}`,
  );
}

/** Returns the document of a ConfigMap as text; undefined if it is missing or cannot be unpacked. */
export function textOfDocument(configMap: KubeObject & Texts): string | undefined {
  const plain = configMap.data?.[FILE];
  if (plain !== undefined) return plain;
  const file = fileOf(configMap);
  try {
    return (file?.[0] === 0x1f ? gunzipSync(file, { maxOutputLength: LONGEST_DOCUMENT }) : file)?.toString();
  } catch {
    return undefined;
  }
}
