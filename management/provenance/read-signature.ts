import { createHash, X509Certificate } from 'node:crypto';
import { type Bundle, bundleFromJSON } from '@sigstore/bundle';
import { z } from 'zod';
import { excessOf } from '#operator/json-amounts';
import { BY_KEY, type Signature, SignatureRefused, type Statement } from './signature.ts';

export interface SignatureLayer {
  mediaType: string;
  bytes: Buffer;
  annotations: Readonly<Record<string, string>>;
}

export interface SignedImage {
  digest: string;
  manifest: Buffer;
}

export const isSignature = (mediaType: string): boolean => readerOf(mediaType) !== undefined;

/** @throws SignatureRefused */
export function readSignature(layer: SignatureLayer, image: SignedImage): Signature {
  try {
    const signature = (readerOf(layer.mediaType) ?? refuse)(layer, image);
    checkEntries(signature.bundle);
    return signature;
  } catch (cause) {
    if (cause instanceof SignatureRefused) throw cause;
    throw new SignatureRefused('it cannot be read', { cause });
  }
}

/** The verifier parses the entries later. @throws SignatureRefused */
function checkEntries({ verificationMaterial: { tlogEntries } }: Bundle): void {
  const text = Buffer.concat(tlogEntries.map(({ canonicalizedBody }) => canonicalizedBody)).toString('utf8');
  const excess = excessOf(text, MOST);
  if (excess !== undefined) throw new SignatureRefused(`its log entries have ${excess}`);
}

type Reader = (layer: SignatureLayer, image: SignedImage) => Signature;

const refuse = (): never => {
  throw new Error('not a signature');
};

function readerOf(mediaType: string): Reader | undefined {
  if (/^application\/vnd\.dev\.sigstore\.bundle(\.v\d\.\d+\+json|\+json;\s*version=\d\.\d)$/.test(mediaType))
    return readBundle;
  return BY_TYPE.get(mediaType);
}

const BY_TYPE = new Map<string, Reader>([
  ['application/vnd.dev.cosign.simplesigning.v1+json', readSimpleSigning],
  ['application/vnd.dsse.envelope.v1+json', readEnvelope],
]);

/** Limits of each JSON text, checked before it is parsed. */
const MOST = { objects: 20_000, values: 100_000 };

function parse(bytes: Buffer | string): unknown {
  const text = bytes.toString('utf8');
  const excess = excessOf(text, MOST);
  if (excess !== undefined) throw new SignatureRefused(`it has ${excess}`);
  return JSON.parse(text);
}

/** A bundle signs an attestation about the image, or the image manifest itself. */
function readBundle({ bytes }: SignatureLayer, image: SignedImage): Signature {
  const bundle = bundleFromJSON(parse(bytes));
  if (bundle.content.$case === 'dsseEnvelope') return attestation(bundle);
  return { bundle, artifact: image.manifest, subjects: () => ({ digests: [image.digest] }) };
}

const SimpleSigning = z.object({
  critical: z.object({ image: z.object({ 'docker-manifest-digest': z.string() }) }),
});

/** Reads cosign's `sha256-<digest>.sig`: a payload that names the digest; the signature is in annotations. */
function readSimpleSigning({ bytes, annotations }: SignatureLayer): Signature {
  const signature = annotations['dev.cosignproject.cosign/signature'];
  const digest = createHash('sha256').update(bytes).digest('base64');
  const messageSignature = { messageDigest: { algorithm: 'SHA2_256', digest }, signature };
  const bundle = bundleFromJSON({ ...cosignMaterial(annotations), messageSignature });
  const subjects = () => ({ digests: [SimpleSigning.parse(parse(bytes)).critical.image['docker-manifest-digest']] });
  return { bundle, artifact: bytes, subjects };
}

/** Reads cosign's `sha256-<digest>.att`: an attestation. */
function readEnvelope({ bytes, annotations }: SignatureLayer): Signature {
  return attestation(bundleFromJSON({ ...cosignMaterial(annotations), dsseEnvelope: parse(bytes) }));
}

const InTotoStatement = z.object({
  subject: z.array(z.object({ digest: z.record(z.string(), z.string()) })).max(10_000),
  predicateType: z.string(),
  predicate: z.unknown(),
});

function attestation(bundle: Bundle): Signature {
  return { bundle, artifact: undefined, subjects: () => readStatement(bundle) };
}

function readStatement({ content }: Bundle): Statement {
  if (content.$case !== 'dsseEnvelope' || content.dsseEnvelope.payloadType !== 'application/vnd.in-toto+json')
    throw new SignatureRefused('it signs no attestation');
  const { subject, predicateType, predicate } = InTotoStatement.parse(parse(Buffer.from(content.dsseEnvelope.payload)));
  const digests = subject.flatMap(({ digest: { sha256 } }) => (sha256 === undefined ? [] : [`sha256:${sha256}`]));
  return { digests, predicateType, predicate };
}

const CosignBundle = z.object({
  SignedEntryTimestamp: z.string(),
  Payload: z.object({ body: z.string(), integratedTime: z.int(), logIndex: z.int(), logID: z.string() }),
});
const EntryBody = z.object({ kind: z.string(), apiVersion: z.string() });
const CosignTimestamp = z.object({ SignedRFC3161Timestamp: z.string() });

function cosignMaterial(annotations: SignatureLayer['annotations']): Record<string, unknown> {
  const certificate = annotations['dev.sigstore.cosign/certificate'];
  if (certificate === undefined) throw new SignatureRefused(BY_KEY);
  const rawBytes = new X509Certificate(certificate).raw.toString('base64');
  const entry = annotations['dev.sigstore.cosign/bundle'];
  const time = annotations['dev.sigstore.cosign/rfc3161timestamp'];
  return {
    mediaType: 'application/vnd.dev.sigstore.bundle+json;version=0.1',
    verificationMaterial: {
      x509CertificateChain: { certificates: [{ rawBytes }] },
      tlogEntries: entry === undefined ? [] : [logEntry(entry)],
      ...(time !== undefined && {
        timestampVerificationData: {
          rfc3161Timestamps: [{ signedTimestamp: CosignTimestamp.parse(parse(time)).SignedRFC3161Timestamp }],
        },
      }),
    },
  };
}

function logEntry(text: string): Record<string, unknown> {
  const { SignedEntryTimestamp: signedEntryTimestamp, Payload: payload } = CosignBundle.parse(parse(text));
  const { kind, apiVersion: version } = EntryBody.parse(parse(Buffer.from(payload.body, 'base64')));
  return {
    logIndex: String(payload.logIndex),
    logId: { keyId: Buffer.from(payload.logID, 'hex').toString('base64') },
    kindVersion: { kind, version },
    integratedTime: String(payload.integratedTime),
    inclusionPromise: { signedEntryTimestamp },
    canonicalizedBody: payload.body,
  };
}
