import { Stalled } from '../errors.ts';
import type { Rendered } from './outcome.ts';

/** Bytes of a document as text. The operator also unpacks the text of the ConfigMap, which its namespace may write. */
export const LONGEST_DOCUMENT = 8 * 1024 * 1024;

/** Parts that a message lists. */
const NAMED = 3;

type Parts = Pick<Rendered, 'document' | 'plainFiles'>;

/** Returns the largest parts of a document: its members, each entry of lists and maps, and its files. */
function largestParts({ document, plainFiles }: Parts): string {
  const sizeOf = (value: unknown) => Buffer.byteLength(typeof value === 'string' ? value : JSON.stringify(value));
  const inside = Object.entries(document).flatMap(([field, value]) =>
    typeof value === 'object' && field !== 'backends'
      ? Object.entries(value).map(([key, part]) => ({ name: `${field}.${key}`, size: sizeOf(part) }))
      : [],
  );
  const backends = document.backends.map((one) => ({ name: `backend ${one.name}`, size: sizeOf(one) }));
  const files = Object.entries(plainFiles).map(([name, text]) => ({ name, size: sizeOf(text) }));
  return [...inside, ...backends, ...files]
    .sort((a, b) => b.size - a.size || (a.name < b.name ? -1 : 1))
    .slice(0, NAMED)
    .map(({ name, size }) => `${name} (${Math.ceil(size / 1000)} kB)`)
    .join(', ');
}

export function tooLarge(size: number, limit: string, parts: Parts): Stalled {
  const message = `the run configuration takes ${Math.ceil(size / 1000)} kB and ${limit}: shorten or divide the largest parts: ${largestParts(parts)}`;
  return new Stalled('RunConfigurationTooLarge', message);
}

export const tooLong = (size: number, parts: Parts): Stalled =>
  tooLarge(size, `a document may take ${Math.floor(LONGEST_DOCUMENT / 1000)}`, parts);

/** Checks before the text is written: many backends may each repeat one long text of a ConfigMap. @throws Stalled */
export function checkDocumentSize(parts: Parts): void {
  const length = lengthOf(parts.document);
  if (length > LONGEST_DOCUMENT) throw tooLong(length, parts);
}

function lengthOf(value: unknown): number {
  if (typeof value === 'string') return value.length;
  if (typeof value !== 'object' || value === null) return 0;
  return Object.entries(value).reduce((sum, [key, inside]) => sum + key.length + lengthOf(inside), 0);
}
