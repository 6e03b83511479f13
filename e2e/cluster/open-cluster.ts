import { join } from 'node:path';
import { packAll } from './images.ts';
import { bringUp, importImages, isUp, takeDown } from './kit/bring-up.ts';
import type { Tell } from './kit/build-programs.ts';
import { whyNoCluster } from './kit/missing.ts';
import { openKind } from './kit/open-kind.ts';
import { defaultFolders } from './kit/cluster-folders.ts';

const NODES = 2;

/** A cluster for one run of the tests. */
export interface OpenCluster {
  readonly kubeconfig: string;
  /** A folder with kubectl and helm, if they are not on the PATH. */
  readonly programs?: string;
  close(): Promise<void>;
}

/** The cluster that the environment variables request. */
export interface Wanted {
  /** E2E_KUBECONFIG: an existing cluster. Its nodes must have the images already. */
  readonly kubeconfig?: string | undefined;
  /** E2E_CLUSTER: `kind`, with Docker. Absent: a cluster of processes of this machine. */
  readonly kind: boolean;
  /** E2E_KIND_IMAGE: node image of kind, from a nearby registry or built here. Absent: kind's default. */
  readonly kindImage?: string | undefined;
}

/** Opens the requested cluster with the test images in its nodes, or returns the reason why it cannot. */
export async function openCluster(wanted: Wanted, tell: Tell): Promise<OpenCluster | { missing: string }> {
  if (wanted.kubeconfig !== undefined) return { kubeconfig: wanted.kubeconfig, close: () => Promise.resolve() };
  if (!wanted.kind) return openOwn(tell);
  const { platform } = process;
  const image = wanted.kindImage ?? defaultFolders().kubernetes.kindImage;
  return openKind({ pack: packAll, tell, image, platform, uid: process.getuid?.() });
}

/** Opens the cluster of this machine. If it already runs, it stays up afterwards. */
async function openOwn(tell: Tell): Promise<OpenCluster | { missing: string }> {
  const missing = whyNoCluster();
  if (missing !== undefined)
    return { missing: `${missing}; E2E_KUBECONFIG names another cluster, E2E_CLUSTER=kind makes one` };
  const places = defaultFolders();
  const wasUp = isUp(places);
  const close = async () => {
    if (!wasUp) await takeDown(places);
  };
  try {
    const archive = join(places.images, 'vmcp.tar');
    // Nodes load existing archives at their start, so the images are packed first.
    await packAll(archive);
    tell('images are packed');
    if (!wasUp) await bringUp(places, NODES, tell);
    else await importImages(places, archive);
  } catch (problem) {
    await close();
    throw problem;
  }
  return { kubeconfig: places.kubeconfig, programs: places.bin, close };
}
