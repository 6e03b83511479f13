import { bundleFromJSON } from '@sigstore/bundle';
import { describe, expect, it } from '@jest/globals';
import { checkBounds } from './check-bounds.ts';
import { SignatureRefused } from './signature.ts';

const base64 = (length: number) => Buffer.alloc(length, 1).toString('base64');
const ENTRY = {
  logIndex: '1',
  logId: { keyId: base64(32) },
  kindVersion: { kind: 'hashedrekord', version: '0.0.1' },
  integratedTime: '1',
  inclusionPromise: { signedEntryTimestamp: base64(64) },
  canonicalizedBody: base64(500),
};
const many = <T>(count: number, one: T): T[] => Array.from({ length: count }, () => one);

/** Returns an unsigned bundle. */
function bundleOf({ entries = [ENTRY] as object[], certificate = 1_000, chain = 1, timestamps = 0, timestamp = 500 }) {
  return bundleFromJSON({
    mediaType: 'application/vnd.dev.sigstore.bundle+json;version=0.1',
    verificationMaterial: {
      x509CertificateChain: { certificates: many(chain, { rawBytes: base64(certificate) }) },
      tlogEntries: entries,
      timestampVerificationData: { rfc3161Timestamps: many(timestamps, { signedTimestamp: base64(timestamp) }) },
    },
    messageSignature: { messageDigest: { algorithm: 'SHA2_256', digest: base64(32) }, signature: base64(64) },
  });
}

/** Returns an attestation with this number of signatures. */
function envelopeOf(signatures: number) {
  const { mediaType, verificationMaterial } = bundleOf({});
  const dsseEnvelope = {
    payload: Buffer.from('{}'),
    payloadType: 'application/vnd.in-toto+json',
    signatures: many(signatures, { keyid: '', sig: Buffer.alloc(64) }),
  };
  return { mediaType, verificationMaterial, content: { $case: 'dsseEnvelope' as const, dsseEnvelope } };
}

/** Returns an inclusion proof, by default with as many hashes as a log has levels. */
const proof = (checkpoint: number, hashes = 64) => ({
  inclusionProof: {
    logIndex: '1',
    treeSize: '2',
    rootHash: base64(32),
    hashes: many(hashes, base64(32)),
    checkpoint: { envelope: 'x'.repeat(checkpoint) },
  },
});

describe('checkBounds', () => {
  it('accepts a signature of usual size', () => {
    expect(() =>
      checkBounds(bundleOf({ entries: [ENTRY, { ...ENTRY, ...proof(500) }], chain: 3, timestamps: 1 })),
    ).not.toThrow();
  });

  it.each([
    ['many entries of a log', { entries: many(4_000, ENTRY) }],
    ['a long entry of a log', { entries: [{ ...ENTRY, canonicalizedBody: base64(300_000) }] }],
    ['a long checkpoint', { entries: [{ ...ENTRY, ...proof(70_000) }] }],
    ['a proof of more hashes than a log can have', { entries: [{ ...ENTRY, ...proof(500, 65) }] }],
    ['a long promise', { entries: [{ ...ENTRY, inclusionPromise: { signedEntryTimestamp: base64(70_000) } }] }],
    ['a long certificate', { certificate: 2_900_000 }],
    ['many certificates', { chain: 5 }],
    ['many timestamps', { timestamps: 1_000 }],
    ['a long timestamp', { timestamps: 1, timestamp: 70_000 }],
  ])('rejects %s before the library compares or parses anything', (_, large) => {
    expect(() => checkBounds(bundleOf(large))).toThrow(SignatureRefused);
  });

  it('accepts at most four signatures of an attestation', () => {
    expect(() => checkBounds(envelopeOf(4))).not.toThrow();
    expect(() => checkBounds(envelopeOf(5))).toThrow(SignatureRefused);
  });
});
