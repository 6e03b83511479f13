/** Limits of a JSON text. Each element takes more memory and time than its bytes suggest. */
export interface Amounts {
  objects?: number;
  /** Objects, lists and their elements. */
  values: number;
  depth?: number;
}

const [QUOTE, BACKSLASH, COMMA, OPEN_LIST, CLOSE_LIST, OPEN_OBJECT, CLOSE_OBJECT] = Buffer.from('"\\,[]{}');

/** Describes the first exceeded limit, e.g. `more than 100 objects`. Does not parse the text. */
export function excessOf(text: string, { objects = Infinity, values, depth = Infinity }: Amounts): string | undefined {
  const found = countIn(text, { objects, values, depth });
  if (found.objects > objects) return `more than ${objects} objects`;
  if (found.depth > depth) return `more than ${depth} lists and objects within each other`;
  return found.values > values ? `more than ${values} values` : undefined;
}

/** Memory of a value besides its text. Bytes. */
const OF_VALUE = 16;

/** Estimates the memory that the parsed text takes. Bytes. */
export function weightOf(text: string): number {
  return text.length + OF_VALUE * countIn(text, { objects: Infinity, values: Infinity, depth: Infinity }).values;
}

/** Counts up to the first excess. The depth is that of the position where counting stops. */
function countIn(text: string, most: Required<Amounts>): Required<Amounts> {
  const found = { objects: 0, values: 0, depth: 0 };
  for (let at = 0; at < text.length; at += 1) {
    const sign = text.charCodeAt(at);
    if (sign === QUOTE) at = endOfString(text, at);
    else if (sign === CLOSE_LIST || sign === CLOSE_OBJECT) found.depth -= 1;
    else if (sign === COMMA || sign === OPEN_LIST || sign === OPEN_OBJECT) {
      found.values += 1;
      if (sign !== COMMA) found.depth += 1;
      if (sign === OPEN_OBJECT) found.objects += 1;
      if (isMore(found, most)) break;
    }
  }
  return found;
}

const isMore = (found: Required<Amounts>, most: Required<Amounts>): boolean =>
  found.objects > most.objects || found.values > most.values || found.depth > most.depth;

/** Returns the end of the string that begins at `start`; beyond the last character if it is not closed. */
function endOfString(text: string, start: number): number {
  for (let at = text.indexOf('"', start + 1); at >= 0; at = text.indexOf('"', at + 1)) {
    let escapes = 0;
    while (text.charCodeAt(at - 1 - escapes) === BACKSLASH) escapes += 1;
    if (escapes % 2 === 0) return at;
  }
  return text.length;
}
