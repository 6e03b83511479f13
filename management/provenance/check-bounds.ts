import type { Bundle } from '@sigstore/bundle';
import { SignatureRefused } from './signature.ts';

/** Entries of a log, timestamps, certificates, signatures: a signature has one or two. */
const MOST = 4;
/** Bytes of a certificate, a timestamp, a promise or a checkpoint of a log. */
const LONGEST = 65_536;
/** Bytes of an entry of a log. */
const LONGEST_ENTRY = 262_144;
/** Hashes of an inclusion proof: as many as a log of 2^64 entries has levels. */
const DEEPEST = 64;

/**
 * Refuses what is larger than signatures are. The library compares all times with each other, and makes an object of every few bytes
 * of a certificate, before it knows who wrote them; it does so in one turn of the event loop. @throws SignatureRefused
 */
export function checkBounds({ verificationMaterial, content }: Bundle): void {
  const { tlogEntries, timestampVerificationData, content: signer } = verificationMaterial;
  const timestamps = timestampVerificationData?.rfc3161Timestamps ?? [];
  const certificates = certificatesOf(signer);
  const signatures = content.$case === 'dsseEnvelope' ? content.dsseEnvelope.signatures : [];
  const proofs = tlogEntries.map(({ inclusionProof }) => inclusionProof);
  const lists = [tlogEntries, timestamps, certificates, signatures];
  const texts = [
    ...certificates.map(({ rawBytes }) => rawBytes),
    ...timestamps.map(({ signedTimestamp }) => signedTimestamp),
    ...tlogEntries.map(({ inclusionPromise }) => inclusionPromise?.signedEntryTimestamp),
    ...proofs.map((proof) => proof?.checkpoint?.envelope),
  ];
  const isLarge =
    lists.some(({ length }) => length > MOST) ||
    proofs.some((proof) => (proof?.hashes.length ?? 0) > DEEPEST) ||
    tlogEntries.some(({ canonicalizedBody }) => canonicalizedBody.length > LONGEST_ENTRY) ||
    texts.some((text) => (text?.length ?? 0) > LONGEST);
  if (isLarge) throw new SignatureRefused('it is larger than signatures are');
}

function certificatesOf(signer: Bundle['verificationMaterial']['content']): readonly { rawBytes: Buffer }[] {
  if (signer.$case === 'certificate') return [signer.certificate];
  return signer.$case === 'x509CertificateChain' ? signer.x509CertificateChain.certificates : [];
}
