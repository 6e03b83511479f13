import { createHash } from 'node:crypto';
import type { Opened, SecretRing } from '#runtime/keys/secret-ring';
import type { RecordName } from './storage/session-records.ts';

export interface ServerIdentity {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
}

/** The seal binds each field to its server, principal, session and name. */
export interface RecordSeal {
  seal(record: RecordName, field: string, plain: string): string;
  /** @throws UnknownSecret, SealBroken */
  open(record: RecordName, field: string, sealed: string): Opened;
  sealEvent(plain: string): string;
  /** @throws UnknownSecret, SealBroken */
  openEvent(sealed: string): string;
}

export function createRecordSeal(ring: SecretRing, { namespace, name, uid }: ServerIdentity): RecordSeal {
  const aad = (...parts: readonly string[]) => [namespace, name, uid, ...parts].join('|');
  const aadOf = ({ key, owner }: RecordName, field: string) => aad('session', owner, key, field);
  return {
    seal: (record, field, plain) => ring.seal(plain, aadOf(record, field)),
    open: (record, field, sealed) => ring.open(sealed, aadOf(record, field)),
    sealEvent: (plain) => ring.seal(plain, aad('news')),
    openEvent: (sealed) => ring.open(sealed, aad('news')).plain,
  };
}

/** `principal`: `Identity.key` of the owner. */
export function recordName(id: string, principal: string): RecordName {
  return { key: sha256(id), owner: sha256(principal) };
}

export function sha256(text: string): string {
  return createHash('sha256').update(text).digest('base64url');
}
