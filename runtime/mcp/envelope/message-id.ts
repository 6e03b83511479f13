/** MCP allows strings and integers, not null. */
export type MessageId = string | number;

const MAX_ID_CHARACTERS = 1024;
const DIGITS = /^-?\d{1,1024}$/;

/** Equal ids have one text: `"\u0061"` is `"a"`, `1` is `1.0`. An unsafe integer keeps its digits. Undefined: the value is no id. */
export function idTextOf(value: unknown, written: string): string | undefined {
  if (typeof value === 'string') return value.length > MAX_ID_CHARACTERS ? undefined : JSON.stringify(value);
  if (typeof value !== 'number') return undefined;
  if (Number.isSafeInteger(value)) return String(value);
  return DIGITS.test(written) ? written : undefined;
}

/** `written`: an id or a progress token. Undefined: it is neither. */
export function readIdText(written: string): string | undefined {
  try {
    return idTextOf(JSON.parse(written), written);
  } catch {
    return undefined;
  }
}

/** Only canonical text of a client may be put into a message. */
export function isIdText(text: string): boolean {
  return readIdText(text) === text;
}
