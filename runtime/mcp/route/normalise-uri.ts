/** Matches escapes of the characters that RFC 3986 §2.3 does not reserve, and escapes in lower case. */
const ESCAPES = /%(?:2[DEde]|3\d|[46][1-9A-Fa-f]|[57][\dAa]|5[Ff]|7[Ee]|[\dA-F][a-f]|[a-f][\dA-Fa-f])/g;
const UNRESERVED = new Map(
  Array.from({ length: 128 }, (_, code) => String.fromCharCode(code))
    .filter((character) => /[\w.~-]/.test(character))
    .map((character) => [`%${character.charCodeAt(0).toString(16).toUpperCase()}`, character]),
);

/**
 * Returns the spellings in which servers may read a URI: as written, as a URL parser writes it (the SDKs parse it), and
 * with unreserved characters unescaped (RFC 3986 §6.2.2). A text that is no URL has one spelling.
 */
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
