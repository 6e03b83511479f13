import { isJsonObject } from '#runtime/mcp/envelope/decode-request';
import { decodeHeaderValue, encodeHeaderValue } from '../modern/header-value.ts';

/** An argument of a tool that a header repeats: `x-mcp-header` in the tool's schema. */
export interface HeaderArgument {
  readonly path: readonly string[];
  /** In lower case, with `mcp-param-`. */
  readonly header: string;
}

const MAX_DEPTH = 32;
/** RFC 9110 §5.6.2. */
const TOKEN = /^[!#$%&'*+.^_`|~\dA-Za-z-]{1,128}$/;
const DECIMAL = /^-?\d+(\.\d+)?$/;

export function headerArguments(schema: unknown, path: readonly string[] = []): HeaderArgument[] {
  if (!isJsonObject(schema) || !isJsonObject(schema.properties) || path.length > MAX_DEPTH) return [];
  return Object.entries(schema.properties).flatMap(([key, child]) => {
    const at = [...path, key];
    const name = isJsonObject(child) ? child['x-mcp-header'] : undefined;
    const isHeader = typeof name === 'string' && TOKEN.test(name);
    const own = isHeader ? [{ path: at, header: `mcp-param-${name.toLowerCase()}` }] : [];
    return [...own, ...headerArguments(child, at)];
  });
}

type Simple = string | number | boolean;

/** Undefined: absent, null, or an object, which no header repeats. */
function valueAt(path: readonly string[], given: unknown): Simple | undefined {
  const value = path.reduce<unknown>((at, key) => (isJsonObject(at) ? at[key] : undefined), given);
  return typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean' ? value : undefined;
}

/** Returns a flat list of the headers for these arguments of a call. */
export function headersOf(declared: readonly HeaderArgument[], given: unknown): string[] {
  return declared.flatMap(({ path, header }) => {
    const value = valueAt(path, given);
    return value === undefined ? [] : [header, encodeHeaderValue(String(value))];
  });
}

/** Returns the first header that does not repeat its argument. `headers`: a flat list. */
export function mismatchedHeader(
  declared: readonly HeaderArgument[],
  given: unknown,
  headers: readonly string[],
): string | undefined {
  return declared.find(({ path, header }) => {
    const value = valueAt(path, given);
    if (value === undefined) return false;
    const at = headers.findIndex((one, index) => index % 2 === 0 && one === header);
    const sent = decodeHeaderValue(headers[at + 1] ?? '');
    if (at < 0 || sent === undefined) return true;
    const isNumber = typeof value === 'number' && DECIMAL.test(sent);
    return isNumber ? Number(sent) !== value : sent !== String(value);
  })?.header;
}
