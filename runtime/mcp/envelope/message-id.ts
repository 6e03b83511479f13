/** The id of a JSON-RPC request: MCP allows strings and integers, not null. */
export type MessageId = string | number;

const MAX_ID_CHARACTERS = 1024;
const DIGITS = /^-?\d{1,1024}$/;

/**
 * The one JSON text of an id, however it was written: `"\u0061"` and `"a"` are the same id, so are `1` and `1.0`, while
 * `1` and `"1"` differ. An integer beyond the safe range keeps its digits. Undefined: this is no id.
 */
export function idTextOf(value: unknown, written: string): string | undefined {
  if (typeof value === 'string') return value.length > MAX_ID_CHARACTERS ? undefined : JSON.stringify(value);
  if (typeof value !== 'number') return undefined;
  if (Number.isSafeInteger(value)) return String(value);
  return DIGITS.test(written) ? written : undefined;
}

/** Returns whether this is the one JSON text of an id: what a client made up may go into a message then. */
export function isIdText(text: string): boolean {
  try {
    return idTextOf(JSON.parse(text), text) === text;
  } catch {
    return false;
  }
}
