import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

/** A folder as a layer; absent `at`: the root of the image. A folder in several images is stored once. */
interface Layer {
  readonly folder: string;
  readonly at?: string;
}

export interface Image {
  /** Name with tag, as pods write it, e.g. `vmcp.test/pause:1`. */
  readonly name: string;
  readonly layers: readonly Layer[];
  /** As the image specification has it: Entrypoint, Cmd, Env, User, WorkingDir. */
  readonly config: object;
}

const EPOCH = '1970-01-01T00:00:00Z';
const PLATFORM = { os: 'linux', architecture: process.arch === 'x64' ? 'amd64' : process.arch };
const MANIFEST = 'application/vnd.oci.image.manifest.v1+json';
const LARGEST = 2 ** 31 - 1;

/** Makes a tar archive that is identical for identical files. */
function tar(folder: string, at = ''): Buffer {
  const same = ['--sort=name', '--mtime=@0', '--owner=0', '--group=0', '--numeric-owner'];
  // r: the transformation skips the targets of links.
  const moved = at === '' ? [] : [`--transform=flags=r;s,^\\.,.${at},`];
  const { status, stdout, stderr } = spawnSync('tar', [...same, ...moved, '-C', folder, '-cf', '-', '.'], {
    maxBuffer: LARGEST,
  });
  if (status !== 0) throw new Error(`tar of ${folder}: ${stderr.toString()}`);
  return stdout;
}

/** Packs images into one archive in the layout of the image specification, without a registry or a builder. */
export function packImages(archive: string, images: readonly Image[]): void {
  const layout = mkdtempSync(join(tmpdir(), 'vmcp-images-'));
  const blobs = join(layout, 'blobs', 'sha256');
  mkdirSync(blobs, { recursive: true });
  const blob = (mediaType: string, content: Buffer | object) => {
    const bytes = Buffer.isBuffer(content) ? content : Buffer.from(JSON.stringify(content));
    const hash = createHash('sha256').update(bytes).digest('hex');
    writeFileSync(join(blobs, hash), bytes);
    return { mediaType, digest: `sha256:${hash}`, size: bytes.length };
  };
  const packed = new Map<string, ReturnType<typeof blob>>();
  const layerOf = ({ folder, at }: Layer) => {
    const key = `${folder}:${at ?? ''}`;
    const layer = packed.get(key) ?? blob('application/vnd.oci.image.layer.v1.tar', tar(folder, at));
    packed.set(key, layer);
    return layer;
  };
  const manifestOf = ({ name, layers: from, config }: Image) => {
    const layers = from.map(layerOf);
    const image = {
      ...PLATFORM,
      created: EPOCH,
      config,
      // Layers are not compressed, so diff ids equal their digests.
      rootfs: { type: 'layers', diff_ids: layers.map(({ digest }) => digest) },
      history: layers.map(() => ({ created: EPOCH, created_by: 'vmcp' })),
    };
    const settings = blob('application/vnd.oci.image.config.v1+json', image);
    const manifest = blob(MANIFEST, { schemaVersion: 2, mediaType: MANIFEST, config: settings, layers });
    const annotations = {
      'io.containerd.image.name': name,
      'org.opencontainers.image.ref.name': name.slice(name.lastIndexOf(':') + 1),
    };
    return { ...manifest, platform: PLATFORM, annotations };
  };
  try {
    const index = 'application/vnd.oci.image.index.v1+json';
    const manifests = images.map(manifestOf);
    writeFileSync(join(layout, 'index.json'), JSON.stringify({ schemaVersion: 2, mediaType: index, manifests }));
    writeFileSync(join(layout, 'oci-layout'), JSON.stringify({ imageLayoutVersion: '1.0.0' }));
    // On a new machine the folder does not exist yet.
    mkdirSync(dirname(archive), { recursive: true });
    writeFileSync(`${archive}.new`, tar(layout));
    renameSync(`${archive}.new`, archive);
  } finally {
    rmSync(layout, { recursive: true });
  }
}
