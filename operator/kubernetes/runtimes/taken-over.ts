import { createHmac } from 'node:crypto';
import type { PodStatus } from './fetch-pod-status.ts';

/** What a pod has to serve. */
export interface Expected {
  /** SHA-256 (hex) of the document; undefined before the first. */
  digest: string | undefined;
  /** Base64 by the path that the document names. */
  files: Readonly<Record<string, string>>;
  /** Key of the HMACs: the newest token. */
  tokens: readonly string[];
}

/** Whether a pod serves the document, and reads each of its secret files with the content that it should have. */
export function hasTakenOver(said: PodStatus | undefined, { digest, files, tokens }: Expected): boolean {
  if (digest === undefined || said?.status.config_digest !== digest) return false;
  const [key = ''] = tokens;
  return Object.entries(files).every(([path, content]) => {
    const hash = createHmac('sha256', key).update(Buffer.from(content, 'base64')).digest('hex');
    return said.secretFiles[path] === hash;
  });
}
