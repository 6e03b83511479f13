/** Returns all for none or unknown ones only: clients send scopes of other servers. Drops `openid`, because no ID token is issued. */
export function resolveScope(asked: string | undefined, supported: readonly string[]): readonly string[] {
  const known = supported.filter((scope) => scope !== 'openid');
  const wanted = new Set(asked?.split(' '));
  const granted = known.filter((scope) => wanted.has(scope));
  return granted.length === 0 ? known : granted;
}
