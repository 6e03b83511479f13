const NONE: ReadonlyMap<string, readonly string[]> = new Map();

/** Returns the raw values of each name in a `Cookie` header (RFC 6265 §5.4). */
export function readCookies(header: string | undefined): ReadonlyMap<string, readonly string[]> {
  if (header === undefined) return NONE;
  const cookies = new Map<string, string[]>();
  for (const pair of header.split(';')) {
    const equals = pair.indexOf('=');
    if (equals < 0) continue;
    const name = pair.slice(0, equals).trim();
    const value = pair.slice(equals + 1).trim();
    const values = cookies.get(name);
    if (values === undefined) cookies.set(name, [value]);
    else values.push(value);
  }
  return cookies;
}
