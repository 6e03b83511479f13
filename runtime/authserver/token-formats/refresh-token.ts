import type { SecretRing } from '#runtime/keys/secret-ring';

type Macs = Pick<SecretRing, 'kid' | 'mac' | 'verify'>;

/** What a refresh token says. */
export interface RefreshToken {
  /** The secret part: it stays the same as long as the session lives. Never stored. */
  readonly secret: string;
  readonly gen: number;
}

const FORM = /^([A-Za-z0-9_-]{1,32})\.([A-Za-z0-9_-]{43})\.(0|[1-9][0-9]{0,9})\.([A-Za-z0-9_-]{43})$/;

/** A refresh token in its parts, of which nothing is checked yet. */
export interface TokenParts extends RefreshToken {
  readonly kid: string;
  readonly mac: string;
}

/** `kid.h.gen.mac`. @throws UnknownSecret */
export function writeRefreshToken(secrets: Macs, kid: string, token: RefreshToken): string {
  return joinRefreshToken(makeRefreshToken(secrets, kid, token));
}

/** @throws UnknownSecret */
export function makeRefreshToken(secrets: Macs, kid: string, { secret, gen }: RefreshToken): TokenParts {
  return { kid, secret, gen, mac: secrets.mac(kid, textOf(secret, gen)) };
}

export function joinRefreshToken({ kid, secret, gen, mac }: TokenParts): string {
  return `${kid}.${secret}.${gen}.${mac}`;
}

/** Undefined: it has not the form of a refresh token. */
export function splitRefreshToken(text: string): TokenParts | undefined {
  const [, kid = '', secret = '', digits = '', mac = ''] = FORM.exec(text) ?? [];
  return secret === '' ? undefined : { kid, secret, gen: Number(digits), mac };
}

/**
 * What a refresh token that was made here says; undefined for any other text.
 * @throws UnknownSecret
 */
export function readRefreshToken(secrets: Macs, text: string): RefreshToken | undefined {
  const parts = splitRefreshToken(text);
  return parts && isGenuine(secrets, parts) ? { secret: parts.secret, gen: parts.gen } : undefined;
}

/** Whether it was made under the secret that it names. @throws UnknownSecret */
export function isGenuine(secrets: Macs, { kid, secret, gen, mac }: TokenParts): boolean {
  return secrets.verify(kid, textOf(secret, gen), mac);
}

function textOf(secret: string, gen: number): string {
  return `rt|${secret}|${gen}`;
}
