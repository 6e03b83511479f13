import { isSecretName, REDACTED, redactText } from '#runtime/telemetry/redact';

const MAX_DEPTH = 64;
/** Longer JSON text is cut without being parsed. */
const MAX_PARSED = 1_048_576;

/** Returns the JSON text of a value with secrets redacted. It stops writing after about `budget` characters. */
function redactedJson(value: unknown, budget: number): { text: string; cut: boolean } {
  const pieces: string[] = [];
  let left = budget;
  function put(piece: string): boolean {
    pieces.push(piece);
    left -= piece.length;
    return left >= 0;
  }
  const whole = write(value, put, 0);
  return { text: pieces.join(''), cut: !whole };
}

type Put = (piece: string) => boolean;

function write(value: unknown, put: Put, depth: number): boolean {
  if (depth > MAX_DEPTH) return put('"…"');
  if (Array.isArray(value)) return writeList(value, put, depth);
  if (typeof value === 'object' && value !== null) return writeMembers(value, put, depth);
  if (typeof value === 'string') return put(JSON.stringify(redactText(value)));
  return put(typeof value === 'number' || typeof value === 'boolean' ? JSON.stringify(value) : 'null');
}

function writeList(list: readonly unknown[], put: Put, depth: number): boolean {
  if (!put('[')) return false;
  for (const [index, item] of list.entries()) {
    if (index > 0 && !put(',')) return false;
    if (!write(item, put, depth + 1)) return false;
  }
  return put(']');
}

function writeMembers(object: object, put: Put, depth: number): boolean {
  if (!put('{')) return false;
  let first = true;
  for (const [name, member] of Object.entries(object)) {
    if (member === undefined) continue;
    if (!put(`${first ? '' : ','}${JSON.stringify(name)}:`)) return false;
    first = false;
    const written = isSecretName(name) ? put(`"${REDACTED}"`) : write(member, put, depth + 1);
    if (!written) return false;
  }
  return put('}');
}

interface Rendered {
  readonly json: string;
  readonly cut: boolean;
}

export function renderData(part: unknown, budget: number): Rendered {
  const source = typeof part === 'string' ? parseText(part) : { value: part, readable: true };
  return source.readable ? renderValue(source.value, budget) : { json: '""', cut: true };
}

/** Renders one part of `data` as JSON of at most `budget` bytes. A cut part is a string with the beginning of the JSON text. */
export function renderValue(value: unknown, budget: number): Rendered {
  const { text, cut } = redactedJson(value, budget);
  if (!cut && Buffer.byteLength(text) <= budget) return { json: text, cut: false };
  return { json: cutString(text, budget), cut: true };
}

function parseText(text: string): { value: unknown; readable: boolean } {
  if (text.length > MAX_PARSED) return { value: undefined, readable: false };
  try {
    return { value: JSON.parse(text), readable: true };
  } catch {
    return { value: undefined, readable: false };
  }
}

/** Returns the longest beginning of `text` whose JSON string has at most `budget` bytes, including quotes and escapes. */
function cutString(text: string, budget: number): string {
  let low = 0;
  let high = Math.min(text.length, budget);
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if (Buffer.byteLength(JSON.stringify(text.slice(0, middle))) <= budget) low = middle;
    else high = middle - 1;
  }
  // JSON.stringify writes half a surrogate pair as an escape of six bytes that no reader can use.
  const end = /[\ud800-\udbff]$/.test(text.slice(0, low)) ? low - 1 : low;
  return JSON.stringify(text.slice(0, end));
}
