import { createHash } from 'node:crypto';
import { gunzipSync } from 'node:zlib';
import type { KubeObject } from '../api/object.ts';

const FILE = 'run-config.yaml';
/** What a runtime reads at most. */
const LARGEST = 16 * 1024 * 1024;

interface Texts {
  data?: Record<string, string>;
  binaryData?: Record<string, string>;
}

/** The bytes that a pod finds as its document; undefined where a ConfigMap has none. */
function fileOf({ data, binaryData }: KubeObject & Texts): Buffer | undefined {
  const text = data?.[FILE];
  if (text !== undefined) return Buffer.from(text);
  const packed = binaryData?.[FILE];
  return packed === undefined ? undefined : Buffer.from(packed, 'base64');
}

/** SHA-256 (hex) of the document of a ConfigMap, as a runtime that has taken it over reports it. */
export function digestOfDocument(configMap: KubeObject): string | undefined {
  const file = fileOf(configMap);
  return file && createHash('sha256').update(file).digest('hex');
}

/** The document of a ConfigMap as text; undefined where there is none, or what is there cannot be unpacked. */
export function textOfDocument(configMap: KubeObject & Texts): string | undefined {
  const plain = configMap.data?.[FILE];
  if (plain !== undefined) return plain;
  const file = fileOf(configMap);
  try {
    return (file?.[0] === 0x1f ? gunzipSync(file, { maxOutputLength: LARGEST }) : file)?.toString();
  } catch {
    return undefined;
  }
}
