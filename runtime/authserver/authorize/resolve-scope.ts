/**
 * The scopes that a client gets: of those it asks for, the ones that there are, in the server's order; `openid` is none, as no ID token
 * is issued. None asked for, or none left: all. Unknown ones are no error, as clients send what other servers know.
 */
export function resolveScope(asked: string | undefined, supported: readonly string[]): readonly string[] {
  const known = supported.filter((scope) => scope !== 'openid');
  const wanted = new Set(asked?.split(' '));
  const granted = known.filter((scope) => wanted.has(scope));
  return granted.length === 0 ? known : granted;
}
