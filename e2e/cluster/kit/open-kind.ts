import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isInstalled } from '../../redis/is-installed.ts';
import { run, runProgram } from '../run-program.ts';
import type { Tell } from './build-programs.ts';
import { POD_RANGE, SERVICE_RANGE } from './cluster-folders.ts';

const PROGRAMS = ['kind', 'docker', 'kubectl', 'helm', 'ip'];
const NAME = 'vmcp-e2e';
const CREATE_MS = 10 * 60_000;
const ASK_MS = 20_000;
const READY_S = 120;
const CONFIG = {
  kind: 'Cluster',
  apiVersion: 'kind.x-k8s.io/v1alpha4',
  // Each node reports all processors of the machine, and the control plane requests one. On a machine with two, a
  // single node has no capacity for the pods of concurrent suites.
  nodes: [{ role: 'control-plane' }, { role: 'worker' }, { role: 'worker' }],
  networking: { podSubnet: POD_RANGE, serviceSubnet: SERVICE_RANGE },
};

interface KindOptions {
  /** Writes the archive of the test images to a path. */
  readonly pack: (archive: string) => Promise<void>;
  readonly tell: Tell;
  /** Image of the node. Absent: the default of this kind, from a registry. */
  readonly image?: string | undefined;
  readonly platform: NodeJS.Platform;
  /** User id of this process. */
  readonly uid: number | undefined;
}

export interface KindCluster {
  readonly kubeconfig: string;
  close(): Promise<void>;
}

/** Returns the missing requirements of a kind cluster, with the remedy; undefined: none. */
async function whyNoKind({ platform, uid }: KindOptions): Promise<string | undefined> {
  if (platform !== 'linux')
    return 'needs Linux: elsewhere Docker runs in a machine whose pods are not reached from here';
  const programs = PROGRAMS.filter((program) => !isInstalled(program));
  if (programs.length > 0) return `needs ${programs.join(', ')}`;
  const answers = async (program: string, ...args: string[]) =>
    (await runProgram(program, args, { deadline: ASK_MS })).code === 0;
  if (!(await answers('docker', 'info'))) return 'needs Docker, and no daemon answers docker info: start it';
  if (uid === 0 || (isInstalled('sudo') && (await answers('sudo', '-n', 'true')))) return undefined;
  return 'needs root, or sudo without a password, to lead the addresses of pods and Services to the nodes by ip route';
}

/**
 * Creates a kind cluster of a control plane and two nodes, with the test images in them. Suites reach pods and Services
 * by their addresses, as on the cluster of this machine.
 */
export async function openKind(options: KindOptions): Promise<KindCluster | { missing: string }> {
  const { pack, tell, image, uid } = options;
  const missing = await whyNoKind(options);
  if (missing !== undefined) return { missing: `E2E_CLUSTER=kind ${missing}` };
  const clusters = await run('kind', ['get', 'clusters'], { deadline: ASK_MS });
  // Later failures delete the cluster, which must not hit a cluster of another run.
  if (clusters.split('\n').includes(NAME))
    throw new Error(`kind has a cluster ${NAME}: another run uses it, or left it: kind delete cluster --name ${NAME}`);
  const folder = mkdtempSync(join(tmpdir(), 'vmcp-kind-'));
  const at = (name: string) => join(folder, name);
  const [kubeconfig, archive, config] = [at('kubeconfig'), at('images.tar'), at('kind.json')];
  const kind = (...args: string[]) => run('kind', [...args, '--name', NAME], { deadline: CREATE_MS });
  const route = (...args: string[]) =>
    uid === 0 ? run('ip', ['route', ...args]) : run('sudo', ['-n', 'ip', 'route', ...args]);
  const routes: string[] = [];
  const close = async () => {
    try {
      for (const range of routes.splice(0)) await route('del', range).catch(() => undefined);
      await kind('delete', 'cluster');
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  };
  try {
    // JSON is YAML.
    writeFileSync(config, JSON.stringify(CONFIG));
    await pack(archive);
    tell('images are packed; kind makes a cluster');
    const node = image === undefined ? [] : ['--image', image];
    await kind('create', 'cluster', '--kubeconfig', kubeconfig, '--config', config, '--wait', '120s', ...node);
    await kind('load', 'image-archive', archive);
    for (const { range, address } of await rangesOf(kubeconfig)) {
      await route('replace', range, 'via', address);
      routes.push(range);
    }
  } catch (problem) {
    // The first failure is the one to report.
    await close().catch(() => undefined);
    throw problem;
  }
  return { kubeconfig, close };
}

/** Returns the routes of each node: one to its pods, and one to Services through any node. */
async function rangesOf(kubeconfig: string): Promise<{ range: string; address: string }[]> {
  const kubectl = (...args: string[]) =>
    run('kubectl', ['--kubeconfig', kubeconfig, ...args], { deadline: (READY_S + 10) * 1000 });
  // kind itself waits for the control plane only, and a node that is not ready may have no range yet.
  await kubectl('wait', 'node', '--all', '--for=condition=Ready', `--timeout=${READY_S}s`);
  const columns = '{.spec.podCIDR} {.status.addresses[?(@.type=="InternalIP")].address}';
  const answer = await kubectl('get', 'nodes', '-o', `jsonpath={range .items[*]}${columns}{"\\n"}{end}`);
  const pods = answer
    .trim()
    .split('\n')
    .map((line) => line.split(' '))
    .map(([range = '', address = '']) => ({ range, address }));
  return [...pods, { range: SERVICE_RANGE, address: pods[0]?.address ?? '' }];
}
