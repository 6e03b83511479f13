const NONE: ReadonlyMap<string, string> = new Map();

/** The cookies of a `Cookie` header (RFC 6265 §5.4), values as they stand. The first of one name counts. */
export function readCookies(header: string | undefined): ReadonlyMap<string, string> {
  if (header === undefined) return NONE;
  const cookies = new Map<string, string>();
  for (const pair of header.split(';')) {
    const equals = pair.indexOf('=');
    if (equals < 0) continue;
    const name = pair.slice(0, equals).trim();
    if (!cookies.has(name)) cookies.set(name, pair.slice(equals + 1).trim());
  }
  return cookies;
}
