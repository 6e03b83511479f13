import { z } from 'zod';
import type { SecretRing } from '#runtime/keys/secret-ring';
import type { LinkRow } from '../storage/rows.ts';
import type { UpstreamTokens } from '../upstream/provider.ts';

/** Sealed content of a link: `UpstreamTokens`, and the time of their receipt if it differs from the time of the link. */
const Sealed = z.object({
  access_token: z.string().min(1),
  refresh_token: z.string().optional(),
  expires_at: z.number().optional(),
  scope: z.string().optional(),
  id_token: z.string().optional(),
  obtained_at: z.number().optional(),
});

/** Opened link of a user to a provider. Times are milliseconds since the epoch. */
export interface OpenLink {
  readonly row: LinkRow;
  readonly tokens: UpstreamTokens;
  readonly obtainedAt: number;
  /** Sealed under a secret that is no longer current. */
  readonly isStale: boolean;
}

export function sealTokens(secrets: SecretRing, tokens: UpstreamTokens, obtainedAt: number, aad: string): string {
  return secrets.seal(JSON.stringify({ ...tokens, obtained_at: obtainedAt }), aad);
}

interface OpenTokens {
  readonly tokens: UpstreamTokens;
  /** Milliseconds since the epoch. Undefined when the sealed content has no time. */
  readonly obtainedAt: number | undefined;
  readonly isStale: boolean;
}

/** Opens sealed tokens. @throws UnknownSecret, SealBroken, or Error for foreign content */
export function openTokens(secrets: SecretRing, text: string, aad: string): OpenTokens {
  const { plain, stale } = secrets.open(text, aad);
  const sealed = Sealed.parse(JSON.parse(plain));
  return {
    tokens: {
      access_token: sealed.access_token,
      refresh_token: sealed.refresh_token,
      expires_at: sealed.expires_at,
      scope: sealed.scope,
      id_token: sealed.id_token,
    },
    obtainedAt: sealed.obtained_at,
    isStale: stale,
  };
}

/** Opens a link. @throws UnknownSecret, SealBroken, or Error for foreign content */
export function openLink(secrets: SecretRing, row: LinkRow, aad: string): OpenLink {
  const { tokens, obtainedAt = row.linked_at, isStale } = openTokens(secrets, row.sealed, aad);
  return { row, tokens, obtainedAt, isStale };
}

const RENEW_BEFORE = 60_000;
/** Margin in milliseconds, because a call may take a moment to reach its backend. */
const UNUSED_END = 5_000;

/** Returns when to renew a token and until when to use it. Infinity if the provider does not return its end. */
export function timesOf({ tokens, obtainedAt }: OpenLink): { readonly renewAt: number; readonly usableUntil: number } {
  const { expires_at: expiresAt, refresh_token: refreshToken } = tokens;
  if (expiresAt === undefined) return { renewAt: Infinity, usableUntil: Infinity };
  const life = Math.max(0, expiresAt - obtainedAt);
  const usableUntil = expiresAt - Math.min(UNUSED_END, life / 10);
  // Without a refresh token, an early renewal is impossible.
  return {
    renewAt: refreshToken === undefined ? usableUntil : expiresAt - Math.min(RENEW_BEFORE, life / 5),
    usableUntil,
  };
}
