/** The id of a JSON-RPC request: MCP allows strings and integers, not null. */
export type MessageId = string | number;

const MAX_ID_CHARACTERS = 1024;
const DIGITS = /^-?\d{1,1024}$/;

/**
 * Returns the canonical JSON text of an id. `"\u0061"` and `"a"` are the same id, so are `1` and `1.0`, but `1` and
 * `"1"` differ. An integer beyond the safe range keeps its digits. Undefined: the value is no id.
 */
export function idTextOf(value: unknown, written: string): string | undefined {
  if (typeof value === 'string') return value.length > MAX_ID_CHARACTERS ? undefined : JSON.stringify(value);
  if (typeof value !== 'number') return undefined;
  if (Number.isSafeInteger(value)) return String(value);
  return DIGITS.test(written) ? written : undefined;
}

/** Returns the canonical JSON text of an id or a progress token from its text as written. Returns undefined if it is neither. */
export function readIdText(written: string): string | undefined {
  try {
    return idTextOf(JSON.parse(written), written);
  } catch {
    return undefined;
  }
}

/** Returns whether the text is the canonical JSON text of an id. If so, text of a client can be put into a message. */
export function isIdText(text: string): boolean {
  return readIdText(text) === text;
}
