import { toSignedEntity, type TrustMaterial, VerificationError, Verifier } from '@sigstore/verify';
import { FetchFailure } from '../fetching/fetch-failure.ts';
import type { OciRepository } from '../fetching/oci-repository.ts';
import { Problem } from '../problem.ts';
import type { Provenance } from '../records/registry-entry.ts';
import { sameValue } from '../same-value.ts';
import { checkBounds } from './check-bounds.ts';
import { checkSigner, type SignedBy, wantedSigner, type WantedSigner } from './check-signer.ts';
import type { CheckedImage } from './checked-image.ts';
import { findSignatures } from './find-signatures.ts';
import type { ImageName } from './read-image.ts';
import { BY_KEY, type Signature, SignatureRefused, type Statement } from './signature.ts';
import { NoTrustRoots, type TrustRoots } from './trust-roots.ts';

export interface Check {
  provenance: Provenance;
  image: string;
  place: ImageName;
  repository: OciRepository;
  roots: Pick<TrustRoots, 'of'>;
  signal: AbortSignal;
}

/** Accepts an image with one valid signature. @throws Problem `image_refused` if there are signatures and none is valid */
export async function checkSignatures(check: Check): Promise<CheckedImage> {
  const { provenance, image, place, repository } = check;
  const signer = wantedSigner(provenance);
  if (!signer) return unchecked(image, 'the registry does not say enough of who signs it');
  const { digest, bytes: manifest } = await repository.manifest(place.reference);
  const wanted = { digest, signer, attestation: provenance.attestation };
  const refusals: SignatureRefused[] = [];
  let trust: TrustMaterial | undefined;
  for await (const found of untilFailure(findSignatures(repository, { digest, manifest }), refusals)) {
    try {
      if (found instanceof SignatureRefused) throw found;
      trust ??= await check.roots.of(provenance.sigstore_url, check.signal);
      const { identity, issuer } = verifySignature(found, wanted, trust);
      return { result: 'verified', image: place.pinned(digest), digest, identity, issuer };
    } catch (error) {
      if (error instanceof NoTrustRoots) return unchecked(image, error.message);
      if (!(error instanceof SignatureRefused)) throw error;
      refusals.push(error);
    }
  }
  if (refusals.length === 0) return { result: 'unsigned', image };
  throw refused(place.pinned(digest), refusals);
}

/** Counts a failed read after a rejected signature as a rejection: a writer of one signature can write many. */
async function* untilFailure(
  found: AsyncIterable<Signature | SignatureRefused>,
  refusals: readonly SignatureRefused[],
): AsyncGenerator<Signature | SignatureRefused> {
  try {
    yield* found;
  } catch (error) {
    if (!(error instanceof FetchFailure) || refusals.length === 0) throw error;
    yield new SignatureRefused(`others cannot be read: ${error.message}`, { cause: error });
  }
}

const unchecked = (image: string, reason: string): CheckedImage => ({ result: 'unchecked', image, reason });

function refused(image: string, refusals: readonly SignatureRefused[]): Problem {
  const why = [...new Set(refusals.map(({ message }) => message))].slice(0, 5).join('; ');
  const remedy = 'run the image by its own name, and not as the entry, if you trust it all the same';
  return new Problem(
    'image_refused',
    `${image} has a signature that does not show what the registry says: ${why}; ${remedy}`,
  );
}

interface WantedSignature {
  digest: string;
  signer: WantedSigner;
  attestation: Provenance['attestation'];
}

/** Checks certificate, log, time, signature, signed digest and declared signer. @throws SignatureRefused */
function verifySignature(signature: Signature, wanted: WantedSignature, trust: TrustMaterial): SignedBy {
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
