const PREFIX = '=?base64?';
const SUFFIX = '?=';
const PLAIN = /^[\x21-\x7e]([\x20-\x7e]*[\x21-\x7e])?$/;
/** RFC 4648 §4, with padding. */
const BASE64 = /^(?:[A-Za-z\d+/]{4})*(?:[A-Za-z\d+/]{2}==|[A-Za-z\d+/]{3}=)?$/;

function isWrapped(value: string): boolean {
  return value.startsWith(PREFIX) && value.endsWith(SUFFIX);
}

/** Value of an Mcp-Name or Mcp-Param header; undefined if its Base64 is invalid. */
export function decodeHeaderValue(value: string): string | undefined {
  if (!isWrapped(value)) return value;
  const inside = value.slice(PREFIX.length, -SUFFIX.length);
  if (!BASE64.test(inside)) return undefined;
  const bytes = Buffer.from(inside, 'base64');
  const text = bytes.toString('utf8');
  return Buffer.from(text, 'utf8').equals(bytes) ? text : undefined;
}

/** Visible ASCII stays plain, anything else becomes Base64. */
export function encodeHeaderValue(value: string): string {
  return PLAIN.test(value) && !isWrapped(value)
    ? value
    : `${PREFIX}${Buffer.from(value, 'utf8').toString('base64')}${SUFFIX}`;
}
