import type { SecretRing } from '#runtime/keys/secret-ring';

type Macs = Pick<SecretRing, 'kid' | 'mac' | 'verify'>;

/** What a refresh token says. */
export interface RefreshToken {
  /** The secret part: it stays the same as long as the session lives. Never stored. */
  readonly secret: string;
  readonly gen: number;
}

const FORM = /^([A-Za-z0-9_-]{1,32})\.([A-Za-z0-9_-]{43})\.(0|[1-9][0-9]{0,9})\.([A-Za-z0-9_-]{43})$/;

/** `kid.h.gen.mac`. @throws UnknownSecret */
export function writeRefreshToken(secrets: Macs, kid: string, { secret, gen }: RefreshToken): string {
  return `${kid}.${secret}.${gen}.${secrets.mac(kid, textOf(secret, gen))}`;
}

/**
 * What a refresh token that was made here says; undefined for any other text.
 * @throws UnknownSecret
 */
export function readRefreshToken(secrets: Macs, text: string): RefreshToken | undefined {
  const [, kid = '', secret = '', digits = '', mac = ''] = FORM.exec(text) ?? [];
  if (secret === '') return undefined;
  const gen = Number(digits);
  return secrets.verify(kid, textOf(secret, gen), mac) ? { secret, gen } : undefined;
}

function textOf(secret: string, gen: number): string {
  return `rt|${secret}|${gen}`;
}
