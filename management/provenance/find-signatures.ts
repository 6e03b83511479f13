import { z } from 'zod';
import { BOUNDS } from '../memory-bounds.ts';
import { FetchFailure } from '../fetching/fetch-failure.ts';
import type { OciRepository } from '../fetching/oci-repository.ts';
import { isSignature, readSignature, type SignedImage } from './read-signature.ts';
import { type Signature, SignatureRefused } from './signature.ts';

const MOST_SIGNATURES = 16;
/** Bytes. Attestations may contain long lists of build materials. */
const LONGEST_SIGNATURE = BOUNDS.signatures.one;

const Digest = z.string().regex(/^sha256:[0-9a-f]{64}$/);
const Layer = z.object({
  mediaType: z.string(),
  digest: Digest,
  size: z.int().min(0),
  annotations: z.record(z.string(), z.string()).default({}),
});
const Manifest = z.object({ layers: z.array(Layer).max(1000) });
const Referrers = z.object({
  manifests: z
    .array(z.object({ mediaType: z.string().optional(), digest: Digest, artifactType: z.string().optional() }))
    .max(10_000),
});
type Referrer = z.infer<typeof Referrers>['manifests'][number];

const MANIFEST_TYPES = new Set([
  'application/vnd.oci.image.manifest.v1+json',
  'application/vnd.docker.distribution.manifest.v2+json',
]);

/** Reads cosign's tags and the referrers (OCI Distribution Specification 1.1). @throws FetchFailure if they cannot be listed */
export async function* findSignatures(
  repository: OciRepository,
  image: SignedImage,
): AsyncGenerator<Signature | SignatureRefused> {
  let left = MOST_SIGNATURES;
  for await (const manifest of findManifests(repository, image.digest)) {
    const layers = Manifest.safeParse(manifest).data?.layers.filter(({ mediaType }) => isSignature(mediaType));
    if (manifest instanceof SignatureRefused) yield manifest;
    else if (!layers) yield new SignatureRefused('it cannot be read');
    for (const layer of layers ?? []) {
      if (left === 0) {
        yield tooMany();
        return;
      }
      left -= 1;
      yield await orRefused(() => readLayer(repository, layer, image));
    }
  }
}

const tooMany = (): SignatureRefused => new SignatureRefused(`there are more than ${MOST_SIGNATURES}`);

async function* findManifests(repository: OciRepository, digest: string): AsyncGenerator {
  const tag = digest.replace(':', '-');
  const { pages, hasMore } = await repository.referrers(digest);
  const signatures = pages.flatMap(readPage).filter(mayBeSignature);
  for (const { digest: one, artifactType } of signatures.slice(0, MOST_SIGNATURES)) {
    const manifest = await orRefused(async () => (await repository.manifest(one)).manifest);
    if (artifactType !== undefined || hasLayers(manifest)) yield manifest;
  }
  for (const kind of ['sig', 'att']) {
    const manifest = await orRefused(() => repository.manifestIfThere(`${tag}.${kind}`));
    if (manifest !== undefined) yield manifest;
  }
  // Without a complete list an image must not count as unsigned.
  if (hasMore || signatures.length > MOST_SIGNATURES) yield tooMany();
}

function readPage(page: unknown): Referrer[] {
  const { data } = Referrers.safeParse(page);
  if (data) return data.manifests;
  throw new FetchFailure('unexpected', 'the registry answers no list of what refers to the image');
}

/** Accepts an image manifest, or a referrer without an artifact type, which has to be read. */
function mayBeSignature({ mediaType, artifactType }: Referrer): boolean {
  if (artifactType !== undefined)
    return isSignature(artifactType) || artifactType.startsWith('application/vnd.dev.cosign.artifact.');
  return mediaType === undefined || MANIFEST_TYPES.has(mediaType);
}

/** An index has no layers. */
const hasLayers = (manifest: unknown): boolean =>
  manifest instanceof SignatureRefused || (typeof manifest === 'object' && manifest !== null && 'layers' in manifest);

async function readLayer(
  repository: OciRepository,
  { mediaType, annotations, ...blob }: z.infer<typeof Layer>,
  image: SignedImage,
): Promise<Signature> {
  const bytes = await repository.wholeBlob(blob, LONGEST_SIGNATURE);
  return readSignature({ mediaType, annotations, bytes }, image);
}

/** Converts the failure of one signature into a rejection, so that the other signatures are still read. */
async function orRefused<T>(read: () => Promise<T>): Promise<T | SignatureRefused> {
  try {
    return await read();
  } catch (error) {
    if (error instanceof SignatureRefused) return error;
    // The named blob is missing (404), too large or has another digest.
    if (error instanceof FetchFailure && error.kind === 'unexpected' && [undefined, 404].includes(error.status))
      return new SignatureRefused(error.message, { cause: error });
    throw error;
  }
}
