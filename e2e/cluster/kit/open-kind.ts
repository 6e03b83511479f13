import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isInstalled } from '../../redis/is-installed.ts';
import { run, runProgram } from '../run-program.ts';
import type { Tell } from './build-programs.ts';
import { POD_RANGE, SERVICE_RANGE } from './places.ts';

const PROGRAMS = ['kind', 'docker', 'kubectl', 'helm', 'ip'];
const NAME = 'vmcp-e2e';
const CREATE_MS = 10 * 60_000;
const ASK_MS = 20_000;
const CONFIG = {
  kind: 'Cluster',
  apiVersion: 'kind.x-k8s.io/v1alpha4',
  networking: { podSubnet: POD_RANGE, serviceSubnet: SERVICE_RANGE },
};

interface KindOptions {
  /** Makes the archive of the images of the tests at a path. */
  readonly pack: (archive: string) => Promise<void>;
  readonly tell: Tell;
  /** Image of the node. Absent: the one that this kind names, from a registry. */
  readonly image?: string | undefined;
  readonly platform: NodeJS.Platform;
  /** User id of this process. */
  readonly uid: number | undefined;
}

export interface KindCluster {
  readonly kubeconfig: string;
  close(): Promise<void>;
}

/** What is missing for a cluster by kind, and what to do; undefined: nothing. */
async function whyNoKind({ platform, uid }: KindOptions): Promise<string | undefined> {
  if (platform !== 'linux')
    return 'needs Linux: elsewhere Docker runs in a machine whose pods are not reached from here';
  const programs = PROGRAMS.filter((program) => !isInstalled(program));
  if (programs.length > 0) return `needs ${programs.join(', ')}`;
  const answers = async (program: string, ...args: string[]) =>
    (await runProgram(program, args, { deadline: ASK_MS })).code === 0;
  if (!(await answers('docker', 'info'))) return 'needs Docker, and no daemon answers docker info: start it';
  if (uid === 0 || (isInstalled('sudo') && (await answers('sudo', '-n', 'true')))) return undefined;
  return 'needs root, or sudo without a password, to lead the addresses of pods and Services to the node by ip route';
}

/**
 * Makes a cluster of one node by kind, with the images of the tests in it. Suites reach pods and Services by their addresses, as on
 * the cluster of this machine.
 */
export async function openKind(options: KindOptions): Promise<KindCluster | { missing: string }> {
  const { pack, tell, image, uid } = options;
  const missing = await whyNoKind(options);
  if (missing !== undefined) return { missing: `E2E_CLUSTER=kind ${missing}` };
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
    const address = await addressOfNode(kubeconfig);
    for (const range of [POD_RANGE, SERVICE_RANGE]) {
      await route('replace', range, 'via', address);
      routes.push(range);
    }
  } catch (problem) {
    // What went wrong first is what has to be mended.
    await close().catch(() => undefined);
    throw problem;
  }
  return { kubeconfig, close };
}

async function addressOfNode(kubeconfig: string): Promise<string> {
  const path = 'jsonpath={.items[0].status.addresses[?(@.type=="InternalIP")].address}';
  const [address = ''] = (await run('kubectl', ['--kubeconfig', kubeconfig, 'get', 'nodes', '-o', path])).split(' ');
  return address.trim();
}
