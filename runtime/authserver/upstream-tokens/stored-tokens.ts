import { z } from 'zod';
import type { SecretRing } from '#runtime/keys/secret-ring';
import type { LinkRow } from '../storage/rows.ts';
import type { UpstreamTokens } from '../upstream/provider.ts';

/** What is sealed into a link: `UpstreamTokens`, and when they were got where that is not when the provider was linked. */
const Sealed = z.object({
  access_token: z.string().min(1),
  refresh_token: z.string().optional(),
  expires_at: z.number().optional(),
  scope: z.string().optional(),
  id_token: z.string().optional(),
  obtained_at: z.number().optional(),
});

/** A user's link at one provider, its seal opened. Times are milliseconds since the epoch. */
export interface OpenLink {
  readonly row: LinkRow;
  readonly tokens: UpstreamTokens;
  readonly obtainedAt: number;
  /** Sealed under a secret that is no longer the one that makes. */
  readonly isStale: boolean;
}

/** The seal of a user's tokens at one provider; `aad` from `linkAad`. */
export function sealTokens(secrets: SecretRing, tokens: UpstreamTokens, obtainedAt: number, aad: string): string {
  return secrets.seal(JSON.stringify({ ...tokens, obtained_at: obtainedAt }), aad);
}

interface OpenTokens {
  readonly tokens: UpstreamTokens;
  /** Milliseconds since the epoch; undefined: it does not say. */
  readonly obtainedAt: number | undefined;
  readonly isStale: boolean;
}

/** @throws UnknownSecret, SealBroken, or Error for a content that is none of ours */
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

/** @throws UnknownSecret, SealBroken, or Error for a content that is none of ours */
export function openLink(secrets: SecretRing, row: LinkRow, aad: string): OpenLink {
  const { tokens, obtainedAt = row.linked_at, isStale } = openTokens(secrets, row.sealed, aad);
  return { row, tokens, obtainedAt, isStale };
}

const RENEW_BEFORE = 60_000;
/** A call may take a moment to reach its backend. */
const UNUSED_END = 5_000;

/** When a token is to be renewed, and until when it is used. Infinity where the provider does not say when it ends. */
export function timesOf({ tokens, obtainedAt }: OpenLink): { readonly renewAt: number; readonly usableUntil: number } {
  const { expires_at: expiresAt, refresh_token: refreshToken } = tokens;
  if (expiresAt === undefined) return { renewAt: Infinity, usableUntil: Infinity };
  const life = Math.max(0, expiresAt - obtainedAt);
  const usableUntil = expiresAt - Math.min(UNUSED_END, life / 10);
  // Without a refresh token there is nothing to renew before it ends.
  return {
    renewAt: refreshToken === undefined ? usableUntil : expiresAt - Math.min(RENEW_BEFORE, life / 5),
    usableUntil,
  };
}
