/** How much a JSON text may hold: each costs more memory and time than its bytes tell. */
export interface Amounts {
  objects: number;
  /** Objects, lists, and what stands in them. */
  values: number;
}

const [QUOTE, COMMA, OPEN_LIST, OPEN_OBJECT, BACKSLASH] = ['"', ',', '[', '{', '\\'].map((sign) => sign.charCodeAt(0));

/** Of what a text has more than it may, in words: `more than 100 objects`. Nothing is parsed for it. */
export function excessOf(text: string, most: Amounts): string | undefined {
  const { objects, values } = countIn(text, most);
  if (objects > most.objects) return `more than ${most.objects} objects`;
  return values > most.values ? `more than ${most.values} values` : undefined;
}

/** What a value weighs besides its text. Bytes. */
const OF_VALUE = 16;

/** About how many bytes what a text says takes in memory. */
export function weightOf(text: string): number {
  return text.length + OF_VALUE * countIn(text, { objects: Infinity, values: Infinity }).values;
}

/** Counts no further than to the first that is too many. */
function countIn(text: string, most: Amounts): Amounts {
  let objects = 0;
  let values = 0;
  for (let at = 0; at < text.length && objects <= most.objects && values <= most.values; at += 1) {
    const sign = text.charCodeAt(at);
    if (sign === QUOTE) at = endOfString(text, at);
    else if (sign === COMMA || sign === OPEN_LIST || sign === OPEN_OBJECT) values += 1;
    if (sign === OPEN_OBJECT) objects += 1;
  }
  return { objects, values };
}

/** Where a string ends that begins at `start`; beyond the last sign where it does not. */
function endOfString(text: string, start: number): number {
  for (let at = text.indexOf('"', start + 1); at >= 0; at = text.indexOf('"', at + 1)) {
    let escapes = 0;
    while (text.charCodeAt(at - 1 - escapes) === BACKSLASH) escapes += 1;
    if (escapes % 2 === 0) return at;
  }
  return text.length;
}
