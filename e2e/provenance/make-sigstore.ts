import { createHash, generateKeyPairSync, type KeyObject, sign as signBytes } from 'node:crypto';
import { initializeCA, initializeCTLog, initializeTLog } from '@sigstore/mock';
import { HashAlgorithm, PublicKeyDetails, TrustedRoot } from '@sigstore/protobuf-specs';
import { z } from 'zod';

/** The signer and the build source, as in Fulcio's certificates. */
export interface Signer {
  identity: string;
  issuer: string;
  repository?: string;
  ref?: string;
  runner?: string;
  /** Age of the certificate at the log's time; a certificate is valid for ten minutes. */
  age?: number;
}

/** A certificate with its key. */
export interface Signing {
  pem: string;
  der: Buffer;
  sign(bytes: Buffer): Buffer;
}

/** A log's answer for an entry. */
export type Logged = z.infer<typeof Logged>;
const Logged = z.object({
  body: z.string(),
  integratedTime: z.int(),
  logID: z.string(),
  logIndex: z.int(),
  verification: z.object({
    signedEntryTimestamp: z.string(),
    inclusionProof: z.object({ logIndex: z.int(), treeSize: z.int(), checkpoint: z.string(), rootHash: z.string() }),
  }),
});

/** A separate sigstore instance: certificate authority, certificate log and transparency log. */
export interface Sigstore {
  /** The trusted root as JSON, for parties that trust this instance. */
  trustedRoot: string;
  certify(signer: Signer): Promise<Signing>;
  log(entry: object): Promise<Logged>;
}

const LOG = 'https://rekor.example';
const OIDS = { issuer: 8, runner: 11, repository: 12, ref: 14 } as const;
const keyPair = () => generateKeyPairSync('ec', { namedCurve: 'prime256v1' });

export async function makeSigstore(): Promise<Sigstore> {
  const logKeys = keyPair();
  const certificateLog = await initializeCTLog(keyPair());
  const authorityKeys = keyPair();
  const log = await initializeTLog(LOG, logKeys);
  const authority = await initializeCA(authorityKeys, certificateLog);
  const began = new Date(Date.now() - 86_400_000);
  return {
    trustedRoot: JSON.stringify(
      TrustedRoot.toJSON({
        mediaType: 'application/vnd.dev.sigstore.trustedroot+json;version=0.1',
        certificateAuthorities: [
          {
            subject: { commonName: 'sigstore', organization: 'sigstore.mock' },
            uri: 'https://fulcio.example',
            certChain: { certificates: [{ rawBytes: bytesOf(authority.rootCertificate) }] },
            validFor: { start: began },
            operator: '',
          },
        ],
        tlogs: [logAuthority(LOG, log.publicKey, began)],
        ctlogs: [logAuthority('https://ct.example', certificateLog.publicKey, began)],
        timestampAuthorities: [],
      }),
    ),
    async certify({ age = 0, ...signer }) {
      const issuing =
        age === 0 ? authority : await initializeCA(authorityKeys, certificateLog, new Date(Date.now() - age));
      return certify(signer, issuing);
    },
    async log(entry) {
      return Logged.parse(Object.values(z.record(z.string(), z.unknown()).parse(await log.log(entry)))[0]);
    },
  };
}

async function certify(
  signer: Omit<Signer, 'age'>,
  authority: Awaited<ReturnType<typeof initializeCA>>,
): Promise<Signing> {
  const { publicKey, privateKey } = keyPair();
  const said = { issuer: signer.issuer, runner: signer.runner, repository: signer.repository, ref: signer.ref };
  const extensions = Object.entries(OIDS).flatMap(([field, number]) => {
    const value = said[field as keyof typeof OIDS];
    return value === undefined ? [] : [{ oid: `1.3.6.1.4.1.57264.1.${number}`, value }];
  });
  const spki = publicKey.export({ format: 'der', type: 'spki' });
  const certificate = await authority.issueCertificate({
    publicKey: new Uint8Array(spki),
    subjectAltName: signer.identity,
    extensions,
  });
  const der = bytesOf(certificate);
  return { pem: pemOf(der), der, sign: (bytes) => signWith(privateKey, bytes) };
}

/** Returns a certificate as PEM text. */
export function pemOf(der: Buffer): string {
  const lines = der.toString('base64').match(/.{1,64}/g) ?? [];
  return `-----BEGIN CERTIFICATE-----\n${lines.join('\n')}\n-----END CERTIFICATE-----\n`;
}

const signWith = (key: KeyObject, bytes: Buffer): Buffer => signBytes('sha256', bytes, key);

const bytesOf = ({ buffer, byteOffset, byteLength }: ArrayBufferView<ArrayBuffer>): Buffer<ArrayBuffer> =>
  Buffer.from(buffer, byteOffset, byteLength);

function logAuthority(baseUrl: string, key: Buffer, start: Date) {
  return {
    baseUrl,
    hashAlgorithm: HashAlgorithm.SHA2_256,
    publicKey: { rawBytes: key, keyDetails: PublicKeyDetails.PKIX_ECDSA_P256_SHA_256, validFor: { start } },
    logId: { keyId: createHash('sha256').update(key).digest() },
    checkpointKeyId: undefined,
    operator: '',
  };
}
