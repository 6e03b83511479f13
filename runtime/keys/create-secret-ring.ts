import { isUtf8 } from 'node:buffer';
import {
  createCipheriv,
  createDecipheriv,
  createHmac,
  createSecretKey,
  hkdfSync,
  timingSafeEqual,
  type KeyObject,
} from 'node:crypto';
import { ConfigError } from '#runtime/errors';
import type { KeyFile } from './key-file.ts';
import { SealBroken, UnknownSecret, type SecretRing } from './secret-ring.ts';
import { createKeyRotation } from './key-rotation.ts';

export interface RotatingSecretRing extends SecretRing {
  readonly warnings: readonly string[];
  /** Applies another list. @throws ConfigError; then the former list stays active */
  update(files: readonly KeyFile[]): void;
}

interface SecretDeps {
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  readonly random: (bytes: number) => Buffer;
}

interface Secret {
  readonly kid: string;
  readonly mac: KeyObject;
  readonly seal: KeyObject;
}

const MIN_BYTES = 32;
const KID_BYTES = 9;
/** SP 800-38D §8.2: 96 bits. */
const IV_BYTES = 12;
const TAG_BYTES = 16;
const LOST =
  'The secret of codes, refresh tokens and stored upstream tokens exists in this process only: after a restart everybody has to log in again. ' +
  'Set hmacSecretRefs.';

/** Returns a secret ring. Without files, it creates one secret that is lost with the process. @throws ConfigError */
export function createSecretRing(files: readonly KeyFile[], { now, random }: SecretDeps): RotatingSecretRing {
  // Created on first use and kept: its signatures stay valid after a configured secret replaces it.
  let own = files.length === 0 ? derive(random(MIN_BYTES)) : undefined;
  const secrets = createKeyRotation(own ? [own] : files.map(loadSecret), now);
  const isEphemeral = () => secrets.making() === own;
  const find = (kid: string) => {
    const secret = secrets.get(kid);
    if (secret === undefined) throw new UnknownSecret('made under a secret that is not configured here');
    return secret;
  };
  return {
    get kid() {
      return secrets.making().kid;
    },
    mac: (kid, text) => macOf(find(kid), text),
    verify: (kid, text, mac) => isSame(macOf(find(kid), text), mac),
    seal(plain, aad) {
      const { kid, seal } = secrets.making();
      const iv = random(IV_BYTES);
      const cipher = createCipheriv('aes-256-gcm', seal, iv).setAAD(Buffer.from(aad));
      const parts = [cipher.update(plain, 'utf8'), cipher.final(), cipher.getAuthTag()];
      return `${kid}.${iv.toString('base64url')}.${Buffer.concat(parts).toString('base64url')}`;
    },
    open(sealed, aad) {
      const [kid = '', iv = '', text = '', ...more] = sealed.split('.');
      if (more.length > 0) throw new SealBroken('not in the form kid.iv.ciphertext');
      return { plain: unseal(find(kid).seal, { iv, text, aad }), stale: kid !== secrets.making().kid };
    },
    get status() {
      return { kids: secrets.all.map(({ kid }) => kid), making: secrets.making().kid, ephemeral: isEphemeral() };
    },
    get changedAt() {
      return secrets.changedAt;
    },
    get warnings() {
      return isEphemeral() ? [LOST] : [];
    },
    update(next) {
      const loaded = next.map(loadSecret);
      if (loaded.length === 0) own ??= derive(random(MIN_BYTES));
      secrets.update(own ? [...loaded, own] : loaded);
    },
  };
}

/** Editors and shells add line breaks, so the final ones of a text are removed. Random bytes stay unchanged. */
function loadSecret({ file, content }: KeyFile): Secret {
  const bytes = isUtf8(content)
    ? Buffer.from(
        Buffer.from(content)
          .toString('utf8')
          .replace(/[\r\n]+$/, ''),
      )
    : content;
  if (bytes.length >= MIN_BYTES) return derive(bytes);
  throw new ConfigError(
    `${file}: the secret is shorter than ${MIN_BYTES} bytes; write random ones, for example: openssl rand -base64 48`,
  );
}

/** Derives one key for each use, and a name that reveals none of them (RFC 5869). */
function derive(secret: Uint8Array): Secret {
  const subKey = (use: string, bytes: number) => Buffer.from(hkdfSync('sha256', secret, '', `vmcp ${use}`, bytes));
  return {
    kid: subKey('kid', KID_BYTES).toString('base64url'),
    mac: createSecretKey(subKey('mac', 32)),
    seal: createSecretKey(subKey('seal', 32)),
  };
}

function macOf({ mac }: Secret, text: string): string {
  return createHmac('sha256', mac).update(text).digest('base64url');
}

function isSame(expected: string, given: string): boolean {
  const [a, b] = [Buffer.from(expected), Buffer.from(given)];
  return a.length === b.length && timingSafeEqual(a, b);
}

function unseal(key: KeyObject, { iv, text, aad }: { iv: string; text: string; aad: string }): string {
  try {
    const bytes = Buffer.from(text, 'base64url');
    const tag = bytes.subarray(-TAG_BYTES);
    const decipher = createDecipheriv('aes-256-gcm', key, Buffer.from(iv, 'base64url'), { authTagLength: TAG_BYTES });
    decipher.setAAD(Buffer.from(aad)).setAuthTag(tag);
    return decipher.update(bytes.subarray(0, -TAG_BYTES), undefined, 'utf8') + decipher.final('utf8');
  } catch (cause) {
    throw new SealBroken('changed, or moved to another place', { cause });
  }
}
