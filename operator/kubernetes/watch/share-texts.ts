const SLOTS = 16_384;

/** Shorter ones the engine shares by itself, longer ones hardly ever come twice. */
const SHORTEST = 11;
const LONGEST = 63;

/** What a Secret holds: a copy of it must not outlive it. */
const NOT_SHARED: ReadonlySet<string> = new Set(['data', 'stringData']);

/** Lets equal texts of all objects that it is given be one. Changes its argument. */
export type ShareTexts = (value: object) => void;

function slotOf(text: string): number {
  let hash = text.length;
  for (let at = 0; at < text.length; at += 1) hash = (Math.imul(hash, 31) + text.charCodeAt(at)) | 0;
  return hash & (SLOTS - 1);
}

/** Of ten thousand children, uids, names and labels of their owners are a good part of what is held. */
export function createTextSharing(): ShareTexts {
  // Texts that came lately, each at the place of its hash: of bounded size, and what comes often is mostly there.
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
