const SLOTS = 16_384;

/** The engine shares shorter texts by itself. Characters. */
const SHORTEST = 11;
const LONGEST = 63;

/** Fields of a Secret's values: a copy must not outlive the Secret. */
const NOT_SHARED: ReadonlySet<string> = new Set(['data', 'stringData']);

/** Replaces equal texts of all passed objects by one instance. Changes its argument. */
export type ShareTexts = (value: object) => void;

function slotOf(text: string): number {
  let hash = text.length;
  for (let at = 0; at < text.length; at += 1) hash = (Math.imul(hash, 31) + text.charCodeAt(at)) | 0;
  return hash & (SLOTS - 1);
}

/** Creates the sharing function. With ten thousand children, the uids, names and labels of their owners are a large part of the memory. */
export function createTextSharing(): ShareTexts {
  // Recent texts by hash. The size is fixed, and frequent texts are mostly present.
  const lately = new Array<string | undefined>(SLOTS);
  const shared = (text: string): string => {
    const slot = slotOf(text);
    const known = lately[slot];
    if (known === text) return known;
    lately[slot] = text;
    return text;
  };
  const share = (value: object): void => {
    const record = value as Record<string, unknown>;
    for (const [key, inside] of Object.entries(record)) {
      if (typeof inside === 'string') {
        if (inside.length >= SHORTEST && inside.length <= LONGEST) record[key] = shared(inside);
      } else if (typeof inside === 'object' && inside !== null && !NOT_SHARED.has(key)) share(inside);
    }
  };
  return share;
}
