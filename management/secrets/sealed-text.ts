import { createCipheriv, createDecipheriv, createHash, randomBytes, scrypt, timingSafeEqual } from 'node:crypto';
import { z } from 'zod';
import { parseJson } from '#lib/json/parse-json';
import { Problem } from '../problem.ts';

const COST = { N: 2 ** 17, r: 8, p: 1, maxmem: 256 * 1024 * 1024 };
const CIPHER = 'aes-256-gcm';
const TAG_BYTES = 16;

const base64 = (bytes: number) =>
  z.string().refine((text) => Buffer.from(text, 'base64url').length === bytes, `not ${bytes} bytes in base64url`);

/** First line of the file. All of it is authenticated (RFC 5116 §2.1: associated data), so no part can be exchanged. */
const Header = z.strictObject({
  format: z.literal('vmcp-secrets'),
  version: z.literal(1),
  kdf: z.literal('scrypt'),
  n: z.literal(COST.N),
  r: z.literal(COST.r),
  p: z.literal(COST.p),
  salt: base64(32),
  /** Distinguishes a wrong password from a damaged file. Scrypt derives it like the key, so it does not speed up guessing. */
  check: base64(16),
  cipher: z.literal(CIPHER),
  nonce: base64(12),
});
type Header = z.infer<typeof Header>;

/** Consists of header line, ciphertext with its tag in base64url, and SHA-256 of both lines. */
interface Sealed {
  header: Header;
  headerLine: string;
  body: Buffer;
}

export interface SealKey {
  salt: string;
  key: Buffer;
  check: Buffer;
}

/** Takes about half a second and 128 MiB. Uses a new salt by default. */
export async function deriveKey(password: string, salt = randomBytes(32).toString('base64url')): Promise<SealKey> {
  const bytes = await new Promise<Buffer>((resolve, reject) => {
    scrypt(password.normalize('NFC'), Buffer.from(salt, 'base64url'), 48, COST, (problem, derived) => {
      if (problem) reject(problem);
      else resolve(derived);
    });
  });
  return { salt, key: bytes.subarray(0, 32), check: bytes.subarray(32) };
}

export function sealText(text: string, { salt, key, check }: SealKey): string {
  const nonce = randomBytes(12);
  const { N: n, r, p } = COST;
  const header: Header = {
    format: 'vmcp-secrets',
    version: 1,
    kdf: 'scrypt',
    n,
    r,
    p,
    salt,
    check: check.toString('base64url'),
    cipher: CIPHER,
    nonce: nonce.toString('base64url'),
  };
  const headerLine = JSON.stringify(header);
  const cipher = createCipheriv(CIPHER, key, nonce, { authTagLength: TAG_BYTES }).setAAD(Buffer.from(headerLine));
  const body = Buffer.concat([cipher.update(text, 'utf8'), cipher.final(), cipher.getAuthTag()]);
  const lines = `${headerLine}\n${body.toString('base64url')}\n`;
  return `${lines}${sha256(lines)}\n`;
}

/** @throws Problem `store_damaged` that names the file */
export function parseSealed(text: string, file: string): Sealed {
  const [headerLine = '', bodyLine = '', sum, ...rest] = text.split('\n');
  const whole = sum === sha256(`${headerLine}\n${bodyLine}\n`) && rest.length === 1 && rest[0] === '';
  if (!whole) throw damaged(file);
  const { data: header } = Header.safeParse(parseJson(headerLine));
  if (header) return { header, headerLine, body: Buffer.from(bodyLine, 'base64url') };
  throw new Problem('store_damaged', `${file} is of another version of vmcp: use the one that wrote it`);
}

export function saltOf({ header: { salt } }: Sealed): string {
  return salt;
}

export function fits({ header }: Sealed, { salt, check }: SealKey): boolean {
  return header.salt === salt && timingSafeEqual(Buffer.from(header.check, 'base64url'), check);
}

/** Requires a key that fits. @throws Problem `store_damaged` */
export function openSealed({ header, headerLine, body }: Sealed, { key }: SealKey, file: string): string {
  const nonce = Buffer.from(header.nonce, 'base64url');
  const decipher = createDecipheriv(CIPHER, key, nonce, { authTagLength: TAG_BYTES }).setAAD(Buffer.from(headerLine));
  const end = body.length - TAG_BYTES;
  if (end < 0) throw damaged(file);
  try {
    decipher.setAuthTag(body.subarray(end));
    return Buffer.concat([decipher.update(body.subarray(0, end)), decipher.final()]).toString('utf8');
  } catch {
    throw damaged(file);
  }
}

export function damaged(file: string): Problem {
  const remedy = 'restore it from a backup, or move it away and set up the secrets anew';
  return new Problem('store_damaged', `${file} is damaged, nothing was changed: ${remedy}`);
}

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
