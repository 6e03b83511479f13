import { hasCertificate } from '#crds/parts/has-certificate';
import { caBundleOf, type CaBundleRef } from '#crds/parts/references';
import type { RunConfigDocument } from '#crds/run-config/run-config';
import { STORED_SECRET } from '#crds/parts/defaults';
import { Waiting } from '../errors.ts';
import type { GeneratedSecret, SecretFlaw, Snapshot } from '../snapshot.ts';
import { contentHash } from '../content-hash.ts';
import { writeText } from '../yaml-text.ts';
import { checkDocumentSize } from './document-size.ts';
import type { Rendered, SecretSource } from './outcome.ts';
import { ownValue } from './own-value.ts';

export interface KeyReference {
  name: string;
  key: string;
}

/** Longest readable part of a file name; a Secret's key may have 253 characters. */
const READABLE = 180;

const GENERATED_FILES: Record<GeneratedSecret, string> = {
  sealing: 'sealing',
  statusToken: 'status-token',
  signingKey: 'signing-key',
  hmacSecret: 'hmac-secret',
};

function fileName(prefix: string, digest: string): string {
  return `${prefix.replaceAll(/[^A-Za-z0-9._-]/g, '-').slice(0, READABLE)}-${digest.slice(0, 16)}`;
}

export const HEADER_FLAWS: readonly SecretFlaw[] = ['control characters', 'beyond Latin-1'];

const PEM = 'in PEM form, without passphrase';
const REMEDIES: Record<SecretFlaw, string> = {
  'not text': 'is not text in UTF-8: write text, or base64 of text under data',
  empty: 'is empty: write its value',
  'control characters': 'has a line break or another control character: remove it',
  'beyond Latin-1': 'has a character that an HTTP header cannot carry: write ASCII or Latin-1 characters',
  short: 'is shorter than 32 bytes: write random ones, for example: openssl rand -base64 48',
  'no private key': `is no private key: write one ${PEM}`,
  'no signing key': `is no private key that can sign tokens: write one ${PEM}: EC P-256 or P-384, Ed25519, or RSA of at least 2048 bits, for example: openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256`,
  'no certificate': `is no certificate: write it with its chain, ${PEM}`,
};

/** @throws Waiting if it is missing */
export function configMapText(snapshot: Snapshot, reference: KeyReference, field: string): string {
  const entries = ownValue(snapshot.configMaps, reference.name);
  if (entries === undefined) {
    const why = ownValue(snapshot.refused?.configMaps, reference.name);
    if (why !== undefined)
      throw new Waiting('ConfigMapNotRead', `${field}: ConfigMap "${reference.name}" is not read: ${why}`);
    throw new Waiting(
      'ConfigMapNotFound',
      `${field} names ConfigMap "${reference.name}", which does not exist: create it`,
    );
  }
  const text = ownValue(entries, reference.key);
  if (text !== undefined) return text;
  const keys = Object.keys(entries).join(', ') || 'none';
  throw new Waiting(
    'ConfigMapKeyNotFound',
    `${field}: ConfigMap "${reference.name}" has no key "${reference.key}" (it has: ${keys}): add it`,
  );
}

function refuseFlawed(
  snapshot: Snapshot,
  { name, key }: KeyReference,
  field: string,
  flaws: readonly SecretFlaw[],
): void {
  const found = ownValue(snapshot.flaws, `${name}/${key}`) ?? [];
  const flaw = flaws.find((one) => found.includes(one));
  if (flaw === undefined) return;
  throw new Waiting('SecretUnusable', `${field}: key "${key}" of Secret "${name}" ${REMEDIES[flaw]}`);
}

/** Returns the keyed hash of a Secret key's value. @throws Waiting if it is missing or binary */
export function secretDigest(snapshot: Snapshot, reference: KeyReference, field: string): string {
  refuseFlawed(snapshot, reference, field, ['not text']);
  const entries = ownValue(snapshot.secrets, reference.name);
  const why = ownValue(snapshot.refused?.secrets, reference.name);
  if (entries === undefined && why !== undefined)
    throw new Waiting('SecretNotRead', `${field}: Secret "${reference.name}" is not read: ${why}`);
  if (reference.name === STORED_SECRET && ownValue(entries, reference.key) === undefined)
    throw notStored(reference, field);
  if (entries === undefined) {
    throw new Waiting('SecretNotFound', `${field} names Secret "${reference.name}", which does not exist: create it`);
  }
  const digest = ownValue(entries, reference.key);
  if (digest !== undefined) return digest;
  // In a cluster, a reader of a status may lack permission to read Secrets.
  const others = snapshot.platform.mode === 'local' ? ` (it has: ${Object.keys(entries).join(', ') || 'none'})` : '';
  throw new Waiting(
    'SecretKeyNotFound',
    `${field}: Secret "${reference.name}" has no key "${reference.key}"${others}: add it`,
  );
}

function notStored({ name, key }: KeyReference, field: string): Waiting {
  const remedy = `store it with "vmcp secret set ${key}", or put it where secrets are read from: the environment, 1Password`;
  return new Waiting('SecretKeyNotFound', `${field}: Secret "${name}" has no key "${key}": ${remedy}`);
}

/** Collects the files of one document. A part that may fail (a backend) has its own list, so that a runtime holds no unused secret. */
export class FileList {
  readonly secretFiles: Record<string, SecretSource> = {};
  readonly plainFiles: Record<string, string> = {};
  readonly #snapshot: Snapshot;
  readonly #directories: { secret: string; config: string };

  constructor(snapshot: Snapshot, directories: { secret: string; config: string }) {
    this.#snapshot = snapshot;
    this.#directories = directories;
  }

  part(): FileList {
    return new FileList(this.#snapshot, this.#directories);
  }

  add(part: FileList): void {
    Object.assign(this.secretFiles, part.secretFiles);
    Object.assign(this.plainFiles, part.plainFiles);
  }

  /** Returns the path of the file with a Secret's value. @throws Waiting if it is missing or has one of `flaws` */
  secret(reference: KeyReference, field: string, flaws: readonly SecretFlaw[] = []): string {
    refuseFlawed(this.#snapshot, reference, field, flaws);
    const digest = secretDigest(this.#snapshot, reference, field);
    const file = fileName(`${reference.name}.${reference.key}`, digest);
    this.secretFiles[file] = { secret: reference.name, key: reference.key };
    return `${this.#directories.secret}/${file}`;
  }

  /** Works as `secret`, for a value that must not be empty. @throws Waiting if it is empty */
  credential(reference: KeyReference, field: string): string {
    return this.secret(reference, field, ['empty']);
  }

  /** Works as `secret`, for a header value. @throws Waiting if no header can carry it */
  headerValue(reference: KeyReference, field: string): string {
    return this.secret(reference, field, ['empty', ...HEADER_FLAWS]);
  }

  /** Works as `secret`, for a certificate and its private key. @throws Waiting if TLS rejects either or they do not match */
  pair(certificate: KeyReference, key: KeyReference, field: string): [certificate: string, key: string] {
    const files = [this.secret(certificate, field, ['no certificate']), this.secret(key, field, ['no private key'])];
    for (const part of [certificate, key]) this.#refuseForTls(part, field);
    const pairOf = ({ name, key }: KeyReference) => ownValue(this.#snapshot.keyPairs, `${name}/${key}`);
    if (pairOf(certificate) === pairOf(key)) return [files[0] ?? '', files[1] ?? ''];
    const what = `key "${key.key}" of Secret "${key.name}" is not the private key of the certificate "${certificate.key}"`;
    throw new Waiting('SecretUnusable', `${field}: ${what}: write the key that belongs to it`);
  }

  #refuseForTls({ name, key }: KeyReference, field: string): void {
    const why = ownValue(this.#snapshot.tlsFlaws, `${name}/${key}`);
    if (why === undefined) return;
    throw new Waiting('SecretUnusable', `${field}: key "${key}" of Secret "${name}" cannot be used for TLS: ${why}`);
  }

  /** Returns the path of the file with a ConfigMap's text. @throws Waiting */
  configMap(reference: KeyReference, field: string): string {
    const text = configMapText(this.#snapshot, reference, field);
    const file = fileName(`${reference.name}.${reference.key}`, contentHash(text));
    this.plainFiles[file] = text;
    return `${this.#directories.config}/${file}`;
  }

  /** Works as `configMap`, for certificate authorities. @throws Waiting if the text has no certificate */
  authorities(reference: CaBundleRef, field: string): string {
    const place = caBundleOf(reference);
    if (hasCertificate(configMapText(this.#snapshot, place, field))) return this.configMap(place, field);
    const remedy = 'write certificates of authorities in PEM form (-----BEGIN CERTIFICATE-----)';
    throw new Waiting(
      'ConfigMapUnusable',
      `${field}: key "${place.key}" of ConfigMap "${place.name}" has no certificate: ${remedy}`,
    );
  }

  /** Returns the path of a secret that the platform generated for this server. `of`: generated for that MCPServer's runtime. */
  generated(which: GeneratedSecret, digest: string, of?: string): string {
    const file = fileName(GENERATED_FILES[which], digest);
    this.secretFiles[file] = of === undefined ? { generated: which } : { generated: which, of };
    return `${this.#directories.secret}/${file}`;
  }

  /** Returns the document with the files that it names. @throws Stalled if it is too long */
  renderedWith(document: RunConfigDocument): Rendered {
    const { secretFiles, plainFiles } = this;
    const { secret: secretDirectory, config: configDirectory } = this.#directories;
    checkDocumentSize({ document, plainFiles });
    return { document, text: writeText(document), secretFiles, plainFiles, secretDirectory, configDirectory };
  }
}
