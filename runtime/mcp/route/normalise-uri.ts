/** Escapes of unreserved characters (RFC 3986 §2.3), and escapes in lower case. */
const ESCAPES = /%(?:2[DEde]|3\d|[46][1-9A-Fa-f]|[57][\dAa]|5[Ff]|7[Ee]|[\dA-F][a-f]|[a-f][\dA-Fa-f])/g;
const UNRESERVED = new Map(
  Array.from({ length: 128 }, (_, code) => String.fromCharCode(code))
    .filter((character) => /[\w.~-]/.test(character))
    .map((character) => [`%${character.charCodeAt(0).toString(16).toUpperCase()}`, character]),
);

/** Returns `uri` as written, as the SDKs' URL parser writes it, and unescaped where unreserved (RFC 3986 §6.2.2). */
export function spellingsOf(uri: string): readonly string[] {
  const parsed = URL.parse(uri)?.href;
  if (parsed === undefined) return [uri];
  return [...new Set([uri, parsed, URL.parse(unescape(parsed))?.href ?? parsed])];
}

function unescape(uri: string): string {
  return uri.replaceAll(ESCAPES, (escape) => {
    const upper = escape.toUpperCase();
    return UNRESERVED.get(upper) ?? upper;
  });
}
