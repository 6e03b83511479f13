import { existsSync, mkdirSync, readdirSync, readFileSync, rmdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { run } from '../run-program.ts';
import {
  type ClusterNode,
  DNS_ADDRESS,
  DOMAIN,
  PAUSE_IMAGE,
  type ClusterFolders,
  POD_RANGE,
} from './cluster-folders.ts';
import { launch, processOf } from './processes.ts';

const CGROUPS = '/sys/fs/cgroup';
const NODE_INIT = join(import.meta.dirname, 'node-init.sh');
const DOES_NOT_EVICT = {
  'memory.available': '0%',
  'nodefs.available': '0%',
  'imagefs.available': '0%',
  'nodefs.inodesFree': '0%',
  'imagefs.inodesFree': '0%',
};

const folderOf = (places: ClusterFolders, { name }: ClusterNode) => join(places.run, name);

function containerdConfig(cniFolder: string): string {
  return `version = 2
[plugins."io.containerd.internal.v1.opt"]
  path = "/var/lib/containerd/opt"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "${PAUSE_IMAGE}"
  disable_apparmor = true
  # Root may lack CAP_SYS_RESOURCE.
  restrict_oom_score_adj = true
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "/usr/lib/cni"
    conf_dir = "${cniFolder}"
  [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
    runtime_type = "io.containerd.runc.v2"
`;
}

const cniConfig = ({ pods }: ClusterNode) => ({
  cniVersion: '1.0.0',
  name: 'vmcp',
  plugins: [
    {
      type: 'bridge',
      bridge: 'cni0',
      isGateway: true,
      hairpinMode: true,
      ipam: { type: 'host-local', ranges: [[{ subnet: pods }]], routes: [{ dst: '0.0.0.0/0' }] },
    },
    { type: 'portmap', capabilities: { portMappings: true } },
  ],
});

const kubeletConfig = (places: ClusterFolders, node: ClusterNode) => ({
  apiVersion: 'kubelet.config.k8s.io/v1beta1',
  kind: 'KubeletConfiguration',
  address: node.address,
  authentication: {
    anonymous: { enabled: false },
    webhook: { enabled: true },
    x509: { clientCAFile: join(places.certificates, 'ca.crt') },
  },
  authorization: { mode: 'Webhook' },
  tlsCertFile: join(places.certificates, `${node.name}-serving.crt`),
  tlsPrivateKeyFile: join(places.certificates, `${node.name}-serving.key`),
  containerRuntimeEndpoint: 'unix:///run/containerd/containerd.sock',
  cgroupDriver: 'cgroupfs',
  cgroupRoot: `/${node.label}`,
  failCgroupV1: false,
  oomScoreAdj: 0,
  failSwapOn: false,
  clusterDNS: [DNS_ADDRESS],
  clusterDomain: DOMAIN,
  resolvConf: join(folderOf(places, node), 'resolv.conf'),
  nodeStatusUpdateFrequency: '5s',
  imageGCHighThresholdPercent: 100,
  evictionHard: DOES_NOT_EVICT,
});

const proxyConfig = ({ settings, kubernetes }: ClusterFolders, { name }: ClusterNode) => ({
  apiVersion: 'kubeproxy.config.k8s.io/v1alpha1',
  kind: 'KubeProxyConfiguration',
  clientConnection: { kubeconfig: join(settings, 'proxy.kubeconfig') },
  hostnameOverride: name,
  mode: 'nftables',
  featureGates: kubernetes.proxyGates ?? {},
  clusterCIDR: POD_RANGE,
  oomScoreAdj: 0,
  // A network namespace cannot set these.
  conntrack: { maxPerCore: 0, tcpEstablishedTimeout: '0s', tcpCloseWaitTimeout: '0s' },
});

function writeSettings(places: ClusterFolders, node: ClusterNode): void {
  const folder = folderOf(places, node);
  const write = (file: string, text: string | object) => {
    writeFileSync(join(folder, file), typeof text === 'string' ? text : JSON.stringify(text));
  };
  // Each start needs an empty /run.
  rmSync(join(folder, 'run'), { recursive: true, force: true });
  for (const below of ['run/netns', 'cni', 'var/log', 'var/tmp', 'var/lib/kubelet']) {
    mkdirSync(join(folder, below), { recursive: true });
  }
  // Empty, so that pods do not get the search domains of the host.
  write('resolv.conf', '');
  write('containerd.toml', containerdConfig(join(folder, 'cni')));
  write('cni/10-bridge.conflist', cniConfig(node));
  write('kubelet.yaml', kubeletConfig(places, node));
  write('proxy.yaml', proxyConfig(places, node));
}

/** Returns the folders of a control group: one in version 2, one for each controller in version 1. */
function controlGroups(label: string): string[] {
  if (existsSync(join(CGROUPS, 'cgroup.controllers'))) return [join(CGROUPS, label)];
  return readdirSync(CGROUPS)
    .filter((controller) => existsSync(join(CGROUPS, controller, 'cgroup.procs')))
    .map((controller) => join(CGROUPS, controller, label));
}

function makeControlGroups({ label }: ClusterNode): void {
  for (const folder of controlGroups(label)) mkdirSync(folder, { recursive: true });
  const cpuset = join(CGROUPS, 'cpuset');
  if (!existsSync(cpuset)) {
    writeFileSync(join(CGROUPS, 'cgroup.subtree_control'), '+cpu +cpuset +memory +pids');
    return;
  }
  for (const file of ['cpuset.cpus', 'cpuset.mems']) {
    writeFileSync(join(cpuset, label, file), readFileSync(join(cpuset, file)));
  }
}

/**
 * Removes the control groups, those of pods first. Returns whether all are gone; one that still has a process stays, so
 * the caller tries again.
 */
export function removeControlGroups(label: string): boolean {
  const remove = (folder: string): void => {
    for (const entry of readdirSync(folder, { withFileTypes: true })) {
      if (entry.isDirectory()) remove(join(folder, entry.name));
    }
    try {
      rmdirSync(folder);
    } catch {
      // The caller tries again.
    }
  };
  for (const folder of controlGroups(label)) if (existsSync(folder)) remove(folder);
  return controlGroups(label).every((folder) => !existsSync(folder));
}

/**
 * Starts a node, unless it runs: containerd, kubelet and kube-proxy with a separate host name, process tree, mounts,
 * /var and /run. When its first process dies, the kernel ends all others and drops the mounts.
 */
export function startNode(places: ClusterFolders, node: ClusterNode): void {
  if (processOf(places, node.name)) return;
  writeSettings(places, node);
  makeControlGroups(node);
  // "ip netns exec" would mount a new /sys, without the control groups.
  const own = ['--mount', '--propagation=slave', '--uts', '--pid', '--fork', '--kill-child', '--mount-proc'];
  const files = [places.bin, places.images, folderOf(places, node), join(places.settings, `${node.name}.kubeconfig`)];
  launch(places, node.name, [
    'nsenter',
    `--net=/run/netns/${node.label}`,
    'unshare',
    ...own,
    NODE_INIT,
    node.name,
    node.address,
    places.logs,
    ...files,
  ]);
}

/** Runs a command within a node. */
export async function runInNode(
  places: ClusterFolders,
  { name }: ClusterNode,
  command: readonly string[],
): Promise<string> {
  const outer = processOf(places, name);
  if (!outer) throw new Error(`the node ${name} does not run`);
  const [inner = ''] = readFileSync(`/proc/${outer.pid}/task/${outer.pid}/children`, 'utf8').trim().split(' ');
  return run('nsenter', ['--target', inner, '--mount', '--net', '--uts', '--pid', ...command]);
}
