import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { checkBuilt, packAll } from './images.ts';
import { bringUp, importImages, isUp, takeDown } from './kit/bring-up.ts';
import type { Tell } from './kit/build-programs.ts';
import { isInstalled } from '../redis/is-installed.ts';
import { whyNoCluster } from './kit/missing.ts';
import { usualPlaces } from './kit/places.ts';
import { run, runProgram } from './run-program.ts';

const NODES = 2;
const KIND_MS = 10 * 60_000;
const DOCKER_MS = 20_000;

/** A cluster for one run of the tests. */
export interface OpenCluster {
  readonly kubeconfig: string;
  /** A folder with kubectl and helm, where they are not on the PATH. */
  readonly programs?: string;
  close(): Promise<void>;
}

/** What the environment asks for. */
export interface Wanted {
  /** E2E_KUBECONFIG: a cluster that is there. Its nodes have to have the images already. */
  readonly kubeconfig?: string | undefined;
  /** E2E_CLUSTER: `kind`, where Docker runs. Absent: one of processes of this machine. */
  readonly kind: boolean;
}

/** Opens the cluster that is asked for, with the images of the tests in its nodes; or says why there is none. */
export async function openCluster(wanted: Wanted, tell: Tell): Promise<OpenCluster | { missing: string }> {
  if (wanted.kubeconfig !== undefined) return { kubeconfig: wanted.kubeconfig, close: () => Promise.resolve() };
  return wanted.kind ? openKind(tell) : openOwn(tell);
}

/** The cluster of this machine. One that was up before is used, and left up. */
async function openOwn(tell: Tell): Promise<OpenCluster | { missing: string }> {
  const missing = whyNoCluster();
  if (missing !== undefined)
    return { missing: `${missing}; E2E_KUBECONFIG names another cluster, E2E_CLUSTER=kind makes one` };
  const places = usualPlaces();
  const wasUp = isUp(places);
  const close = async () => {
    if (!wasUp) await takeDown(places);
  };
  try {
    const archive = join(places.images, 'vmcp.tar');
    // Packed before: nodes load at their start what is there.
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

async function openKind(tell: Tell): Promise<OpenCluster | { missing: string }> {
  const programs = ['kind', 'docker', 'kubectl', 'helm'].filter((program) => !isInstalled(program));
  if (programs.length > 0) return { missing: `E2E_CLUSTER=kind needs ${programs.join(', ')}` };
  const docker = await runProgram('docker', ['info'], { deadline: DOCKER_MS });
  if (docker.code !== 0)
    return { missing: 'E2E_CLUSTER=kind needs Docker, and no daemon answers docker info: start it' };
  checkBuilt();
  const folder = mkdtempSync(join(tmpdir(), 'vmcp-kind-'));
  const [kubeconfig, archive] = [join(folder, 'kubeconfig'), join(folder, 'images.tar')];
  const kind = (...args: string[]) => run('kind', [...args, '--name', 'vmcp-e2e'], { deadline: KIND_MS });
  const close = async () => {
    try {
      await kind('delete', 'cluster');
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  };
  try {
    tell('kind makes a cluster');
    await kind('create', 'cluster', '--kubeconfig', kubeconfig, '--wait', '120s');
    await packAll(archive);
    await kind('load', 'image-archive', archive);
  } catch (problem) {
    // What went wrong first is what has to be mended.
    await close().catch(() => undefined);
    throw problem;
  }
  return { kubeconfig, close };
}
