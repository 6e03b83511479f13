import { homedir } from 'node:os';
import { join } from 'node:path';
import { chooseVersion, type KubernetesVersion } from './versions.ts';

/** The folders of a cluster. All are below `base`, outside the checkout. */
export interface ClusterFolders {
  readonly base: string;
  /** The release of Kubernetes that runs there. */
  readonly kubernetes: KubernetesVersion;
  /** Its programs, with kubectl and helm, cached between runs. */
  readonly bin: string;
  /** Programs that all releases share: etcd, CoreDNS, helm, pause. */
  readonly sharedBin: string;
  /** Archives of images, cached between runs. */
  readonly images: string;
  /** Files of one run, deleted at its end. */
  readonly run: string;
  readonly certificates: string;
  readonly logs: string;
  readonly settings: string;
  readonly processes: string;
  /** Kubeconfig of the administrator. */
  readonly kubeconfig: string;
}

export function clusterFolders(base: string, kubernetes: KubernetesVersion): ClusterFolders {
  // Each node mounts a separate /var and /run.
  if (/^\/(var|run)\//.test(base)) throw new Error(`a cluster cannot live in ${base}: not below /var or /run`);
  const run = join(base, 'run');
  const settings = join(run, 'settings');
  return {
    base,
    kubernetes,
    bin: join(base, kubernetes.programs),
    sharedBin: join(base, chooseVersion(undefined).programs),
    images: join(base, 'images'),
    run,
    certificates: join(run, 'certificates'),
    logs: join(run, 'logs'),
    settings,
    processes: join(run, 'processes'),
    kubeconfig: join(settings, 'admin.kubeconfig'),
  };
}

/** Returns the folders in the user's cache folder, as building the programs takes minutes. */
export function defaultFolders(): ClusterFolders {
  const cache = process.env.XDG_CACHE_HOME ?? join(homedir(), '.cache');
  const version = chooseVersion(process.env.E2E_KUBERNETES_VERSION);
  return clusterFolders(process.env.E2E_CLUSTER_DIR ?? join(cache, 'vmcp', 'cluster'), version);
}

// The host's end of the bridge is the address of the control plane. Names and ports are fixed, so a machine has one
// cluster.
export const BRIDGE = 'vmcp0';
const NETWORK = '172.31.250';
export const HOST = `${NETWORK}.1`;
const POD_NETWORK = '10.244';
export const POD_RANGE = `${POD_NETWORK}.0.0/16`;
export const SERVICE_RANGE = '10.96.0.0/16';
export const API_ADDRESS = '10.96.0.1';
export const DNS_ADDRESS = '10.96.0.10';
export const DOMAIN = 'cluster.local';
export const API_URL = 'https://127.0.0.1:6443';
export const API_URL_OF_NODES = `https://${HOST}:6443`;
export const PAUSE_IMAGE = 'vmcp.test/pause:1';

/** One of the real nodes, counted from 1. */
export interface ClusterNode {
  readonly name: string;
  /** Name of its network namespace, of the host's end of its wire, and of its control group. */
  readonly label: string;
  readonly address: string;
  /** Range of its pods. */
  readonly pods: string;
}

export function nodesOf(count: number): ClusterNode[] {
  return Array.from({ length: count }, (_, index) => ({
    name: `n${index + 1}`,
    label: `vmcp-n${index + 1}`,
    address: `${NETWORK}.1${index + 1}`,
    pods: `${POD_NETWORK}.${index + 1}.0/24`,
  }));
}
