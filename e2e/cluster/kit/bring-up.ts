import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import { run, runProgram } from '../run-program.ts';
import { buildPrograms, installPackages, type Tell } from './build-programs.ts';
import { CONTROL_PLANE, kubectl, startControlPlane } from './control-plane.ts';
import { issueCertificates } from './issue-certificates.ts';
import { layNetwork, nodeNamespaces, removeNetwork } from './lay-network.ts';
import { packImages } from './pack-images.ts';
import { nodesOf, PAUSE_IMAGE, type ClusterFolders } from './cluster-folders.ts';
import { halt, processOf, until } from './processes.ts';
import { removeControlGroups, runInNode, startNode } from './start-node.ts';
import { USUAL } from './versions.ts';

/** The kubelet sets these for the whole machine, and `takeDown` restores them. */
const SYSCTLS = [
  'vm.overcommit_memory',
  'vm.panic_on_oom',
  'kernel.panic',
  'kernel.panic_on_oops',
  'kernel.keys.root_maxkeys',
  'kernel.keys.root_maxbytes',
];
const CONTROL_GROUPS_MS = 10_000;

/** Options of the cluster that runs. */
const Started = z.object({ nodes: z.int().nonnegative(), kubernetes: z.string().default(USUAL) });

function startedWith({ run: folder }: ClusterFolders): z.infer<typeof Started> | undefined {
  const file = join(folder, 'started.json');
  return existsSync(file) ? Started.parse(JSON.parse(readFileSync(file, 'utf8'))) : undefined;
}

/** Throws if the running cluster has other options than the wanted ones. */
function checkSame(runs: z.infer<typeof Started>, wanted: z.infer<typeof Started>): void {
  if (runs.nodes === wanted.nodes && runs.kubernetes === wanted.kubernetes) return;
  throw new Error(`it runs Kubernetes ${runs.kubernetes} with ${runs.nodes} nodes: take it down first`);
}

/** Returns whether the API server of this cluster runs. */
export function isUp(places: ClusterFolders): boolean {
  return processOf(places, 'apiserver') !== undefined;
}

/** Installs and builds missing programs; returns at once if there are none. */
export async function prepare(places: ClusterFolders, tell: Tell): Promise<void> {
  mkdirSync(places.images, { recursive: true });
  await installPackages(places, tell);
  await buildPrograms(places, tell);
  packPause(places);
}

/** Packs the image of the container that holds the namespaces of a pod. */
function packPause({ sharedBin, images }: ClusterFolders): void {
  const archive = join(images, 'pause.tar');
  if (existsSync(archive)) return;
  const folder = mkdtempSync(join(tmpdir(), 'vmcp-pause-'));
  try {
    // The folder becomes the root of the image.
    chmodSync(folder, 0o755);
    writeFileSync(join(folder, 'pause'), readFileSync(join(sharedBin, 'pause')), { mode: 0o755 });
    packImages(archive, [{ name: PAUSE_IMAGE, layers: [{ folder }], config: { Entrypoint: ['/pause'] } }]);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** Starts a cluster with so many real nodes, 0 for an API server alone. Processes that already run stay. */
export async function bringUp(places: ClusterFolders, nodes: number, tell: Tell): Promise<void> {
  const started = startedWith(places);
  // Removes the remains of a run that was not taken down, or that a restart of the machine interrupted.
  if (!isUp(places)) await takeDown(places);
  else if (started) checkSame(started, { nodes, kubernetes: places.kubernetes.name });
  await prepare(places, tell);
  for (const folder of [places.certificates, places.logs, places.settings, places.processes]) {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
  }
  writeFileSync(join(places.run, 'started.json'), JSON.stringify({ nodes, kubernetes: places.kubernetes.name }));
  await keepSysctls(places);
  await Promise.all([issueCertificates(places, nodes), layNetwork(nodes)]);
  for (const node of nodesOf(nodes)) startNode(places, node);
  await startControlPlane(places);
  tell('the API server is ready');
  await awaitReady(places, nodes);
  tell(`the cluster is ready, with ${nodes} nodes`);
}

async function awaitReady(places: ClusterFolders, nodes: number): Promise<void> {
  const asks = async (...args: string[]) => (await kubectl(places, args)).code === 0;
  await until('the default service account', 60, () => asks('get', 'serviceaccount', 'default'));
  for (const { name } of nodesOf(nodes)) {
    await until(`node ${name}`, 120, () => asks('wait', '--for=condition=Ready', `node/${name}`, '--timeout=5s'));
  }
  if (nodes === 0) return;
  const dns = async () => (await fetch('http://127.0.0.1:8181/ready', { signal: AbortSignal.timeout(1000) })).ok;
  await until('DNS', 30, dns);
}

async function keepSysctls({ run: folder }: ClusterFolders): Promise<void> {
  const file = join(folder, 'sysctl.conf');
  if (existsSync(file)) return;
  const { stdout } = await runProgram('sysctl', SYSCTLS, { deadline: 5000 });
  writeFileSync(file, stdout);
}

/** Imports an archive of images into all running nodes. */
export async function importImages(places: ClusterFolders, archive: string): Promise<void> {
  const nodes = startedWith(places)?.nodes ?? 0;
  const command = ['ctr', '-n', 'k8s.io', 'images', 'import', '--digests=false', archive];
  await Promise.all(nodesOf(nodes).map((node) => runInNode(places, node, command)));
}

/** Ends all processes that `bringUp` started, and deletes their state; programs and images stay. */
export async function takeDown(places: ClusterFolders): Promise<void> {
  const nodes = readdirIfThere(places.processes).filter((name) => /^n\d+$/.test(name));
  // All state is deleted, so no process needs a clean exit.
  await halt(places, [...nodes, ...CONTROL_PLANE], 'SIGKILL');
  for (const label of nodeNamespaces()) await untilControlGroupsGo(label);
  await removeNetwork();
  const sysctls = join(places.run, 'sysctl.conf');
  if (existsSync(sysctls)) await runProgram('sysctl', ['-q', '-p', sysctls], { deadline: 5000 });
  const mounts = readFileSync('/proc/mounts', 'utf8');
  if (mounts.includes(` ${places.run}/`)) throw new Error(`mounts are left below ${places.run}`);
  await run('rm', ['-rf', '--one-file-system', places.run]);
}

async function untilControlGroupsGo(label: string): Promise<void> {
  const deadline = Date.now() + CONTROL_GROUPS_MS;
  while (!removeControlGroups(label) && Date.now() < deadline) await sleep(100);
}

function readdirIfThere(folder: string): string[] {
  return existsSync(folder) ? readdirSync(folder) : [];
}
