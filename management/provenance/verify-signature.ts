import { type TrustMaterial, toSignedEntity, VerificationError, Verifier } from '@sigstore/verify';
import type { Provenance } from '../records/registry-entry.ts';
import { sameValue } from '../same-value.ts';
import { checkBounds } from './check-bounds.ts';
import { checkSigner, type SignedBy, type WantedSigner } from './check-signer.ts';
import { BY_KEY, type Signature, SignatureRefused, type Statement } from './signature.ts';

export interface WantedSignature {
  digest: string;
  signer: WantedSigner;
  attestation: Provenance['attestation'];
}

/** Checks certificate, log, time, signature, signed digest and declared signer. @throws SignatureRefused */
export function verifySignature(signature: Signature, wanted: WantedSignature, trust: TrustMaterial): SignedBy {
  try {
    checkBounds(signature.bundle);
    const { identity } = new Verifier(trust).verify(toSignedEntity(signature.bundle, signature.artifact));
    if (!identity) throw new SignatureRefused(BY_KEY);
    const signedBy = checkSigner(identity, wanted.signer);
    const statement = signature.subjects();
    if (!statement.digests.includes(wanted.digest)) throw new SignatureRefused('it is of another image');
    checkAttestation(statement, wanted.attestation);
    return signedBy;
  } catch (cause) {
    if (cause instanceof SignatureRefused) throw cause;
    // Any error is a rejection, as writers of the image's registry control the signature data.
    const why = cause instanceof VerificationError ? WHY[cause.code] : undefined;
    throw new SignatureRefused(why ?? 'it cannot be read', { cause });
  }
}

const NO_ENTRY = 'no transparency log that is trusted has it';
const WHY: Partial<Record<VerificationError['code'], string>> = {
  CERTIFICATE_ERROR: 'its certificate is of no authority that is trusted, or was not valid when it signed',
  PUBLIC_KEY_ERROR: BY_KEY,
  SIGNATURE_ERROR: 'it is of something else',
  TIMESTAMP_ERROR: 'nobody who is trusted says when it was made',
  TLOG_ERROR: NO_ENTRY,
  TLOG_BODY_ERROR: NO_ENTRY,
  TLOG_INCLUSION_PROOF_ERROR: NO_ENTRY,
  TLOG_INCLUSION_PROMISE_ERROR: NO_ENTRY,
  TLOG_MISSING_INCLUSION_ERROR: NO_ENTRY,
};

function checkAttestation(said: Statement, wanted: Provenance['attestation']): void {
  const { predicate_type: type, predicate } = wanted ?? {};
  if (type && said.predicateType !== type)
    throw new SignatureRefused(`it attests no ${JSON.stringify(type.slice(0, 500))}`);
  if (predicate !== undefined && predicate !== null && !sameValue(said.predicate, predicate))
    throw new SignatureRefused('it attests something else than the registry says');
}
