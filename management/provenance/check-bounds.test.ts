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

/** A bundle that nobody signed. */
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

/** An attestation with so many signatures. */
function envelopeOf(signatures: number) {
  const { mediaType, verificationMaterial } = bundleOf({});
  const dsseEnvelope = {
    payload: Buffer.from('{}'),
    payloadType: 'application/vnd.in-toto+json',
    signatures: many(signatures, { keyid: '', sig: Buffer.alloc(64) }),
  };
  return { mediaType, verificationMaterial, content: { $case: 'dsseEnvelope' as const, dsseEnvelope } };
}

/** As many hashes as a log has levels. */
const proof = (checkpoint: number, hashes = 64) => ({
  inclusionProof: {
    logIndex: '1',
    treeSize: '2',
    rootHash: base64(32),
    hashes: many(hashes, base64(32)),
    checkpoint: { envelope: 'x'.repeat(checkpoint) },
  },
});

describe('a signature', () => {
  it('of the size that signatures have is looked at', () => {
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
  ])('with %s is refused before anything in it is compared or parsed', (_, large) => {
    expect(() => checkBounds(bundleOf(large))).toThrow(SignatureRefused);
  });

  it('of an attestation is one of few', () => {
    expect(() => checkBounds(envelopeOf(4))).not.toThrow();
    expect(() => checkBounds(envelopeOf(5))).toThrow(SignatureRefused);
  });
});
