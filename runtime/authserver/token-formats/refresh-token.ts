import type { SecretRing } from '#runtime/keys/secret-ring';

type Macs = Pick<SecretRing, 'kid' | 'mac' | 'verify'>;

export interface RefreshToken {
  /** Secret part, constant for the life of the session. Never stored. */
  readonly secret: string;
  readonly gen: number;
}

const FORM = /^([A-Za-z0-9_-]{1,32})\.([A-Za-z0-9_-]{43})\.(0|[1-9][0-9]{0,9})\.([A-Za-z0-9_-]{43})$/;

export interface TokenParts extends RefreshToken {
  readonly kid: string;
  readonly mac: string;
}

/** Returns the text `kid.h.gen.mac`. @throws UnknownSecret */
export function writeRefreshToken(secrets: Macs, kid: string, token: RefreshToken): string {
  return joinRefreshToken(makeRefreshToken(secrets, kid, token));
}

/** Makes the parts of a refresh token. @throws UnknownSecret */
export function makeRefreshToken(secrets: Macs, kid: string, { secret, gen }: RefreshToken): TokenParts {
  return { kid, secret, gen, mac: secrets.mac(kid, textOf(secret, gen)) };
}

export function joinRefreshToken({ kid, secret, gen, mac }: TokenParts): string {
  return `${kid}.${secret}.${gen}.${mac}`;
}

export function splitRefreshToken(text: string): TokenParts | undefined {
  const [, kid = '', secret = '', digits = '', mac = ''] = FORM.exec(text) ?? [];
  return secret === '' ? undefined : { kid, secret, gen: Number(digits), mac };
}

/** Returns the content of a refresh token that this server made, or undefined for other text. @throws UnknownSecret */
export function readRefreshToken(secrets: Macs, text: string): RefreshToken | undefined {
  const parts = splitRefreshToken(text);
  return parts && isGenuine(secrets, parts) ? { secret: parts.secret, gen: parts.gen } : undefined;
}

/** Verifies the MAC under the secret that the token names. @throws UnknownSecret */
export function isGenuine(secrets: Macs, { kid, secret, gen, mac }: TokenParts): boolean {
  return secrets.verify(kid, textOf(secret, gen), mac);
}

function textOf(secret: string, gen: number): string {
  return `rt|${secret}|${gen}`;
}
