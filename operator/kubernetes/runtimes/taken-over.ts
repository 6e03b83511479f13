import { createHmac } from 'node:crypto';
import type { PodStatus } from './fetch-pod-status.ts';

export interface Expected {
  /** SHA-256 (hex) of the document; undefined before the first one. */
  digest: string | undefined;
  /** Base64 by the path in the document. */
  files: Readonly<Record<string, string>>;
  /** Keys of the HMACs, the newest token first. */
  tokens: readonly string[];
}

/** Returns whether a pod serves the document, and reads each of its secret files with the expected content. */
export function hasTakenOver(answer: PodStatus | undefined, { digest, files, tokens }: Expected): boolean {
  if (digest === undefined || answer?.status.config_digest !== digest) return false;
  const [key = ''] = tokens;
  return Object.entries(files).every(([path, content]) => {
    const hash = createHmac('sha256', key).update(Buffer.from(content, 'base64')).digest('hex');
    return answer.secretFiles[path] === hash;
  });
}
