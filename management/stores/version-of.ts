import { createHash } from 'node:crypto';

interface Versioned {
  metadata: { labels?: unknown; annotations?: unknown };
  spec?: unknown;
}

/** Ignores the order of keys, comments and status. */
export function versionOf({ metadata: { labels, annotations }, spec }: Versioned): string {
  const text = JSON.stringify({ labels: labels ?? {}, annotations: annotations ?? {}, spec }, sorted);
  return createHash('sha256').update(text).digest('base64url').slice(0, 22);
}

function sorted(_key: string, value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)));
}
