import { createHash } from 'node:crypto';
import { gunzipSync } from 'node:zlib';
import type { RunConfigDocument } from '#crds/run-config/run-config';
import { readText } from '#operator/world';
import type { KubeObject } from '../api/object.ts';

const FILE = 'run-config.yaml';
const LARGEST = 64 * 1024 * 1024;

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

/**
 * Reads the document of a ConfigMap at the first look, and keeps it as a text between looks: as objects, the documents of
 * thousands of servers would be the larger part of all that the operator holds.
 */
export function lazyDocument(configMap: KubeObject): () => RunConfigDocument | undefined {
  let text: string | undefined;
  return () => {
    text ??= JSON.stringify(documentOf(configMap) ?? null);
    return (JSON.parse(text) as RunConfigDocument | null) ?? undefined;
  };
}

/** The document of a ConfigMap; undefined for what is none, as after an edit by hand. */
export function documentOf(configMap: KubeObject): RunConfigDocument | undefined {
  const file = fileOf(configMap);
  if (!file) return undefined;
  try {
    const text = file[0] === 0x1f ? gunzipSync(file, { maxOutputLength: LARGEST }) : file;
    const document = readText(text.toString());
    return typeof document === 'object' && document !== null ? (document as RunConfigDocument) : undefined;
  } catch {
    return undefined;
  }
}
