import { createHash } from 'node:crypto';
import { createReadStream, createWriteStream } from 'node:fs';
import { rm } from 'node:fs/promises';
import { pipeline } from 'node:stream/promises';
import { z } from 'zod';
import { FetchFailure } from '../fetching/fetch-failure.ts';
import { createHttpClient } from '../fetching/http-client.ts';
import { OciRepository } from '../fetching/oci-repository.ts';
import { boundedBody } from '../fetching/read-body.ts';
import { extractTar } from './extract-tar.ts';
import { type Space, unusable } from './skill-limits.ts';
import { type SkillReference, writeReference } from './skill-reference.ts';
import { type FetchedSkill, type FetchRequest, PRIVATE_REMEDY } from './skill-source.ts';

type OciReference = Extract<SkillReference, { kind: 'oci' }>;

const Descriptor = z.object({
  mediaType: z.string(),
  digest: z.string().regex(/^sha256:[0-9a-f]{64}$/),
  size: z.int().min(0),
});
const Index = z.object({
  manifests: z
    .array(
      z.object({ ...Descriptor.shape, platform: z.object({ os: z.string(), architecture: z.string() }).optional() }),
    )
    .min(1)
    .max(1000),
});
const Manifest = z.object({ layers: z.array(Descriptor).min(1).max(100) });

/** Media types of tar archives: images, and artifacts of several tools. */
const TAR = /[./]tar([+.]gzip)?$/;

/** Accepts one tar layer, and verifies the digests of manifest and layer. @throws Problem, FetchFailure */
export async function fetchOci(
  reference: OciReference,
  { rules, allowPrivateAddress, into, space, signal }: FetchRequest,
): Promise<FetchedSkill> {
  const http = createHttpClient({
    allowPrivateAddress,
    remedy: PRIVATE_REMEDY,
    proxy: rules.proxy,
  });
  try {
    const repository = new OciRepository(reference.registry, reference.repository, http, signal);
    const first = await repository.manifest(reference.digest ?? reference.tag ?? 'latest');
    const manifest = await resolveIndex(first.manifest, repository);
    const layer = layerOf(manifest, space);
    const answer = await repository.blob(layer.digest);
    await downloadLayer(boundedBody(answer, layer.size), layer, `${into}.layer`);
    await extractTar(createReadStream(`${into}.layer`), into, { signal, space });
    const pinned = writeReference({ ...reference, digest: first.digest });
    return { reference: pinned, tag: reference.tag, digest: first.digest, directory: undefined };
  } finally {
    await rm(`${into}.layer`, { force: true });
    await http.close();
  }
}

/** Falls back to the first manifest: a skill's content does not depend on the platform. */
async function resolveIndex(manifest: unknown, repository: OciRepository): Promise<unknown> {
  const index = Index.safeParse(manifest).data;
  if (index === undefined) return manifest;
  const isHere = ({ platform }: (typeof index.manifests)[number]) =>
    platform?.os === 'linux' && platform.architecture === (process.arch === 'x64' ? 'amd64' : process.arch);
  const chosen = index.manifests.find(isHere) ?? index.manifests[0];
  return (await repository.manifest(chosen?.digest ?? '')).manifest;
}

function layerOf(manifest: unknown, space: Space): z.infer<typeof Descriptor> {
  const layers = Manifest.safeParse(manifest).data?.layers ?? [];
  const [layer, ...more] = layers.filter(({ mediaType }) => TAR.test(mediaType));
  if (layer === undefined || more.length > 0 || layers.length > 1)
    throw unusable('name: the artifact is no skill: a skill has one layer, which is a tar archive');
  if (layer.size > space.left) throw space.exceeded();
  return layer;
}

/** Verifies the digest before any of it is parsed. @throws FetchFailure */
async function downloadLayer(
  bytes: AsyncIterable<Buffer>,
  { digest, size }: z.infer<typeof Descriptor>,
  path: string,
): Promise<void> {
  const hash = createHash('sha256');
  let read = 0;
  const hashed = async function* (chunks: AsyncIterable<Buffer>) {
    for await (const chunk of chunks) {
      hash.update(chunk);
      read += chunk.length;
      yield chunk;
    }
  };
  await pipeline(bytes, hashed, createWriteStream(path, { flags: 'wx', mode: 0o600 }));
  if (read === size && `sha256:${hash.digest('hex')}` === digest) return;
  throw new FetchFailure('unexpected', `the layer has another digest or size than its manifest says (${digest})`);
}
