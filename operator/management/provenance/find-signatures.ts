import { z } from 'zod';
import { FetchFailure } from '../fetching/fetch-failure.ts';
import type { OciRepository } from '../fetching/oci-repository.ts';
import { isSignature, readSignature, type SignedImage } from './read-signature.ts';
import { type Signature, SignatureRefused } from './signature.ts';

/** Signatures of one image that are looked at. */
const MOST_SIGNATURES = 16;
/** Attestations hold whole lists of what was built from what. Bytes. */
const LONGEST_SIGNATURE = 4 * 1024 * 1024;

const Digest = z.string().regex(/^sha256:[0-9a-f]{64}$/);
const Layer = z.object({
  mediaType: z.string(),
  digest: Digest,
  size: z.int().min(0),
  annotations: z.record(z.string(), z.string()).default({}),
});
const Manifest = z.object({ layers: z.array(Layer).max(1000) });
const Referrers = z.object({
  manifests: z.array(z.object({ digest: Digest, artifactType: z.string().optional() })).max(10_000),
});

/**
 * The signatures beside an image: cosign's tags, and what refers to its manifest (OCI Distribution Specification 1.1). One that is there
 * and is none by its form is told as refused. @throws FetchFailure where the registry does not say what there is
 */
export async function* findSignatures(
  repository: OciRepository,
  image: SignedImage,
): AsyncGenerator<Signature | SignatureRefused> {
  let left = MOST_SIGNATURES;
  for await (const manifest of findManifests(repository, image.digest)) {
    const layers = Manifest.safeParse(manifest).data?.layers.filter(({ mediaType }) => isSignature(mediaType));
    if (!layers) yield new SignatureRefused('it cannot be read');
    for (const layer of layers ?? []) {
      if (left === 0) {
        yield new SignatureRefused(`there are more than ${MOST_SIGNATURES}`);
        return;
      }
      left -= 1;
      yield await readLayer(repository, layer, image);
    }
  }
}

async function* findManifests(repository: OciRepository, digest: string): AsyncGenerator {
  const tag = digest.replace(':', '-');
  const referrers = await repository.referrers(digest);
  const named = Referrers.safeParse(referrers ?? { manifests: [] }).data?.manifests;
  if (!named) throw new FetchFailure('unexpected', 'the registry answers no list of what refers to the image');
  const signatures = named.filter(({ artifactType }) => artifactType === undefined || mayBeSignature(artifactType));
  for (const { digest: one } of signatures.slice(0, MOST_SIGNATURES + 1))
    yield (await repository.manifest(one)).manifest;
  for (const kind of ['sig', 'att']) {
    const manifest = await repository.manifestIfThere(`${tag}.${kind}`);
    if (manifest !== undefined) yield manifest;
  }
}

const mayBeSignature = (artifactType: string): boolean =>
  isSignature(artifactType) || artifactType.startsWith('application/vnd.dev.cosign.artifact.');

async function readLayer(
  repository: OciRepository,
  { mediaType, annotations, ...blob }: z.infer<typeof Layer>,
  image: SignedImage,
): Promise<Signature | SignatureRefused> {
  try {
    const bytes = await repository.wholeBlob(blob, LONGEST_SIGNATURE);
    return readSignature({ mediaType, annotations, bytes }, image);
  } catch (error) {
    if (error instanceof SignatureRefused) return error;
    // It came, and is larger than it may be, or another one than its manifest says.
    if (error instanceof FetchFailure && error.kind === 'unexpected' && error.status === undefined)
      return new SignatureRefused(error.message, { cause: error });
    throw error;
  }
}
