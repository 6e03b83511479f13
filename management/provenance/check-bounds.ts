import type { Bundle } from '@sigstore/bundle';
import { SignatureRefused } from './signature.ts';

/** Maximum number of log entries, timestamps, certificates or signatures; a real signature has one or two of each. */
const MOST = 4;
/** Bytes of a certificate, a timestamp, a promise or a checkpoint of a log. */
const LONGEST = 65_536;
/** Bytes. */
const LONGEST_ENTRY = 262_144;
/** Maximum hashes of an inclusion proof: the levels of a log of 2^64 entries. */
const DEEPEST = 64;

/** The sigstore library compares timestamps and parses certificates before it verifies them, in one turn. @throws SignatureRefused */
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
