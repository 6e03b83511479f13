/** The text after the prefix is the kind. docs/operate/storage-schema.md has the same table. */
const SINGLE = [
  'clients',
  'logins',
  'browsers',
  'tickets',
  'answers',
  'assertions',
  'revocations',
  'sessions',
  'linked',
  'mcps',
  'mark',
] as const;
const OF_MANY = [
  'client',
  'login',
  'browser',
  'ticket',
  'answer',
  'assertion',
  'slot',
  'revocation',
  'code',
  'session',
  'user',
  'links',
  'lease',
  'count',
  'mcp',
  'mcp-of',
  'rate',
] as const;

/** Logins at remote servers; the same kinds follow. */
const REMOTE = 'remote:';

export const KEY_KINDS: readonly string[] = [...SINGLE, ...OF_MANY.map((kind) => `${kind}:`)];

/** Returns undefined for unknown keys, and for keys below a longer prefix of another server. */
export function kindOfKey(key: string, prefix: string, others: readonly string[]): string | undefined {
  if (!key.startsWith(prefix) || others.some((other) => other.startsWith(prefix) && key.startsWith(other)))
    return undefined;
  const whole = key.slice(prefix.length);
  const rest = whole.startsWith(REMOTE) ? whole.slice(REMOTE.length) : whole;
  const single = SINGLE.find((kind) => kind === rest);
  return single ?? OF_MANY.find((kind) => rest.startsWith(`${kind}:`) && rest.length > kind.length + 1);
}
