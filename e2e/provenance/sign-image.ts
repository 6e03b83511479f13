import { createHash } from 'node:crypto';
import { z } from 'zod';
import { MANIFEST, type OciRegistry } from '../skills/serve-oci.ts';
import { type Logged, pemOf, type Signing, type Sigstore } from './make-sigstore.ts';

const sha256 = (bytes: Buffer): Buffer => createHash('sha256').update(bytes).digest();
const base64 = (text: string): string => Buffer.from(text).toString('base64');

/** A layer of a signature manifest. */
export interface SignatureLayer {
  mediaType: string;
  bytes: Buffer;
  annotations: Record<string, string>;
}

const SIMPLE_SIGNING = 'application/vnd.dev.cosign.simplesigning.v1+json';
export const BUNDLE = 'application/vnd.dev.sigstore.bundle.v0.3+json';

/** Signs in cosign's own form: the text names the digest, and annotations hold the rest. */
export async function signSimply(digest: string, signing: Signing, sigstore: Sigstore): Promise<SignatureLayer> {
  const bytes = Buffer.from(
    JSON.stringify({
      critical: {
        identity: { 'docker-reference': 'any' },
        image: { 'docker-manifest-digest': digest },
        type: 'cosign container image signature',
      },
      optional: null,
    }),
  );
  const signature = signing.sign(bytes).toString('base64');
  const { verification, body, integratedTime, logIndex, logID } = await sigstore.log({
    apiVersion: '0.0.1',
    kind: 'hashedrekord',
    spec: {
      data: { hash: { algorithm: 'sha256', value: sha256(bytes).toString('hex') } },
      signature: { content: signature, publicKey: { content: base64(signing.pem) } },
    },
  });
  const entry = {
    SignedEntryTimestamp: verification.signedEntryTimestamp,
    Payload: { body, integratedTime, logIndex, logID },
  };
  return {
    mediaType: SIMPLE_SIGNING,
    bytes,
    annotations: {
      'dev.cosignproject.cosign/signature': signature,
      'dev.sigstore.cosign/certificate': signing.pem,
      'dev.sigstore.cosign/bundle': JSON.stringify(entry),
    },
  };
}

export interface Attested {
  digest: string;
  predicateType?: string;
  predicate?: unknown;
}

/** Makes an attestation in a DSSE envelope, as a sigstore bundle. */
export async function attest(attested: Attested, signing: Signing, sigstore: Sigstore): Promise<SignatureLayer> {
  const { digest, predicateType = 'https://slsa.dev/provenance/v1', predicate = {} } = attested;
  const payload = Buffer.from(
    JSON.stringify({
      _type: 'https://in-toto.io/Statement/v1',
      subject: [{ name: 'image', digest: { sha256: digest.slice('sha256:'.length) } }],
      predicateType,
      predicate,
    }),
  );
  const type = 'application/vnd.in-toto+json';
  const encoded = Buffer.concat([Buffer.from(`DSSEv1 ${type.length} ${type} ${payload.length} `), payload]);
  const signature = signing.sign(encoded).toString('base64');
  const logged = await sigstore.log({
    apiVersion: '0.0.1',
    kind: 'dsse',
    spec: {
      payloadHash: { algorithm: 'sha256', value: sha256(payload).toString('hex') },
      signatures: [{ signature, verifier: base64(signing.pem) }],
    },
  });
  const bundle = {
    mediaType: BUNDLE,
    verificationMaterial: {
      certificate: { rawBytes: signing.der.toString('base64') },
      tlogEntries: [logEntry(logged, { kind: 'dsse', version: '0.0.1' })],
    },
    dsseEnvelope: {
      payload: payload.toString('base64'),
      payloadType: type,
      signatures: [{ sig: signature, keyid: '' }],
    },
  };
  return { mediaType: BUNDLE, bytes: Buffer.from(JSON.stringify(bundle)), annotations: {} };
}

function logEntry({ body, integratedTime, logID, logIndex, verification }: Logged, kindVersion: object): object {
  const { signedEntryTimestamp, inclusionProof: proof } = verification;
  return {
    logIndex: String(logIndex),
    logId: { keyId: Buffer.from(logID, 'hex').toString('base64') },
    kindVersion,
    integratedTime: String(integratedTime),
    inclusionPromise: { signedEntryTimestamp },
    inclusionProof: {
      logIndex: String(proof.logIndex),
      rootHash: Buffer.from(proof.rootHash, 'hex').toString('base64'),
      treeSize: String(proof.treeSize),
      hashes: [],
      checkpoint: { envelope: proof.checkpoint },
    },
    canonicalizedBody: body,
  };
}

/** A store for signatures. */
export type SignatureStore = Pick<OciRegistry, 'putBlob' | 'putManifest'>;

const tagOf = (digest: string): string => digest.replace(':', '-');

/** Stores signatures as cosign does: under a tag made from the image's digest. */
export async function storeByTag(
  registry: SignatureStore,
  { repository, digest, kind = 'sig' }: { repository: string; digest: string; kind?: 'sig' | 'att' },
  layers: readonly SignatureLayer[],
): Promise<void> {
  await registry.putManifest(repository, `${tagOf(digest)}.${kind}`, await manifestOf(registry, repository, layers));
}

/** Stores signatures as referrers, for a registry without the referrers API: an index under the specification's tag. */
export async function storeAsReferrers(
  registry: SignatureStore,
  { repository, digest }: { repository: string; digest: string },
  layers: readonly SignatureLayer[],
): Promise<void> {
  const manifests = [];
  for (const [index, layer] of layers.entries()) {
    const manifest = { ...(await manifestOf(registry, repository, [layer])), artifactType: layer.mediaType };
    const own = await registry.putManifest(repository, `referrer-${index}`, manifest);
    const size = JSON.stringify(manifest).length;
    manifests.push({ mediaType: MANIFEST, digest: own, size, artifactType: layer.mediaType });
  }
  const type = 'application/vnd.oci.image.index.v1+json';
  await registry.putManifest(repository, tagOf(digest), { schemaVersion: 2, mediaType: type, manifests }, type);
}

async function manifestOf(registry: SignatureStore, repository: string, layers: readonly SignatureLayer[]) {
  const described = [];
  for (const { mediaType, bytes, annotations } of layers)
    described.push({ mediaType, annotations, size: bytes.length, digest: await registry.putBlob(repository, bytes) });
  const empty = Buffer.from('{}');
  const config = {
    mediaType: 'application/vnd.oci.empty.v1+json',
    digest: await registry.putBlob(repository, empty),
    size: empty.length,
  };
  return { schemaVersion: 2, mediaType: MANIFEST, config, layers: described };
}

const Attestation = z.object({
  verificationMaterial: z.object({
    certificate: z.object({ rawBytes: z.string() }),
    tlogEntries: z.tuple([
      z.object({
        logIndex: z.coerce.number(),
        logId: z.object({ keyId: z.string() }),
        integratedTime: z.coerce.number(),
        inclusionPromise: z.object({ signedEntryTimestamp: z.string() }),
        canonicalizedBody: z.string(),
      }),
    ]),
  }),
  dsseEnvelope: z.unknown(),
});

/** Converts an attestation to cosign's form under a tag: the envelope, and annotations with the rest. */
export function asCosign({ bytes }: SignatureLayer): SignatureLayer {
  const { verificationMaterial, dsseEnvelope } = Attestation.parse(JSON.parse(bytes.toString('utf8')));
  const [{ logIndex, logId, integratedTime, inclusionPromise, canonicalizedBody: body }] =
    verificationMaterial.tlogEntries;
  const logID = Buffer.from(logId.keyId, 'base64').toString('hex');
  const entry = {
    SignedEntryTimestamp: inclusionPromise.signedEntryTimestamp,
    Payload: { body, integratedTime, logIndex, logID },
  };
  return {
    mediaType: 'application/vnd.dsse.envelope.v1+json',
    bytes: Buffer.from(JSON.stringify(dsseEnvelope)),
    annotations: {
      'dev.sigstore.cosign/certificate': pemOf(Buffer.from(verificationMaterial.certificate.rawBytes, 'base64')),
      'dev.sigstore.cosign/bundle': JSON.stringify(entry),
    },
  };
}
