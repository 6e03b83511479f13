import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { runProgram } from '../run-program.ts';
import { DOMAIN, HOST, type ClusterFolders, SERVICE_RANGE } from './cluster-folders.ts';
import { launch, until } from './processes.ts';
import { renderDns, writeCorefile } from './render-dns.ts';

const ETCD = 'http://127.0.0.1:2379';
const ISSUER = `https://kubernetes.default.svc.${DOMAIN}`;

/** Processes of the control plane, in the order of their shutdown. */
export const CONTROL_PLANE = ['coredns', 'scheduler', 'controller-manager', 'apiserver', 'etcd'] as const;
export type ControlPlaneProcess = (typeof CONTROL_PLANE)[number];

/** Formats flags; `true` stands for a flag without a value. */
const flags = (values: Record<string, string | true>) =>
  Object.entries(values).map(([name, value]) => (value === true ? `--${name}` : `--${name}=${value}`));

function etcdFlags({ run }: ClusterFolders): string[] {
  const peers = 'http://127.0.0.1:2380';
  return flags({
    name: 'vmcp',
    'data-dir': join(run, 'etcd'),
    'unsafe-no-fsync': true,
    'log-level': 'warn',
    'listen-client-urls': ETCD,
    'advertise-client-urls': ETCD,
    'listen-peer-urls': peers,
    'initial-advertise-peer-urls': peers,
    'initial-cluster': `vmcp=${peers}`,
  });
}

function apiServerFlags({ certificates }: ClusterFolders): string[] {
  const file = (name: string) => join(certificates, name);
  return flags({
    'etcd-servers': ETCD,
    'advertise-address': HOST,
    'secure-port': '6443',
    'service-cluster-ip-range': SERVICE_RANGE,
    'tls-cert-file': file('apiserver.crt'),
    'tls-private-key-file': file('apiserver.key'),
    'client-ca-file': file('ca.crt'),
    'kubelet-client-certificate': file('apiserver-kubelet.crt'),
    'kubelet-client-key': file('apiserver-kubelet.key'),
    'kubelet-certificate-authority': file('ca.crt'),
    'kubelet-preferred-address-types': 'InternalIP',
    'requestheader-client-ca-file': file('ca.crt'),
    'requestheader-allowed-names': 'front-proxy-client',
    'requestheader-username-headers': 'X-Remote-User',
    'requestheader-group-headers': 'X-Remote-Group',
    'requestheader-extra-headers-prefix': 'X-Remote-Extra-',
    'proxy-client-cert-file': file('front-proxy.crt'),
    'proxy-client-key-file': file('front-proxy.key'),
    'service-account-issuer': ISSUER,
    'service-account-jwks-uri': `${ISSUER}/openid/v1/jwks`,
    'service-account-key-file': file('tokens.key'),
    'service-account-signing-key-file': file('tokens.key'),
    'authorization-mode': 'Node,RBAC',
    'enable-admission-plugins': 'NodeRestriction',
    'allow-privileged': true,
  });
}

function controllerManagerFlags({ certificates, settings }: ClusterFolders): string[] {
  return flags({
    kubeconfig: join(settings, 'controllers.kubeconfig'),
    'bind-address': '127.0.0.1',
    'leader-elect': 'false',
    'use-service-account-credentials': true,
    // With the defaults a new namespace waits five seconds for its service account.
    'kube-api-qps': '200',
    'kube-api-burst': '400',
    'service-account-private-key-file': join(certificates, 'tokens.key'),
    'root-ca-file': join(certificates, 'ca.crt'),
    'cluster-signing-cert-file': join(certificates, 'ca.crt'),
    'cluster-signing-key-file': join(certificates, 'ca.key'),
  });
}

function schedulerFlags({ settings }: ClusterFolders): string[] {
  const kubeconfig = join(settings, 'scheduler.kubeconfig');
  return flags({ kubeconfig, 'bind-address': '127.0.0.1', 'leader-elect': 'false' });
}

const COMMANDS: Record<ControlPlaneProcess, (places: ClusterFolders) => string[]> = {
  etcd: (places) => ['etcd', ...etcdFlags(places)],
  apiserver: (places) => ['kube-apiserver', ...apiServerFlags(places)],
  'controller-manager': (places) => ['kube-controller-manager', ...controllerManagerFlags(places)],
  scheduler: (places) => ['kube-scheduler', ...schedulerFlags(places)],
  coredns: ({ settings }) => ['coredns', '-conf', join(settings, 'Corefile')],
};

/** Starts one process of the control plane, unless it runs. */
export function launchControlPlane(places: ClusterFolders, name: ControlPlaneProcess): void {
  const programs = name === 'etcd' || name === 'coredns' ? places.sharedBin : places.bin;
  launch(places, name, [join(programs, 'kube'), ...COMMANDS[name](places)]);
}

/** Runs kubectl as the administrator. */
export async function kubectl(places: ClusterFolders, args: readonly string[], input?: string) {
  return runProgram(join(places.bin, 'kubectl'), ['--kubeconfig', places.kubeconfig, ...args], {
    deadline: 30_000,
    ...(input === undefined ? {} : { input }),
  });
}

export async function awaitApiServer(places: ClusterFolders): Promise<void> {
  await until('kube-apiserver', 120, async () => (await kubectl(places, ['get', '--raw', '/readyz'])).code === 0);
}

/** Starts etcd, the API server, the controllers, the scheduler and DNS; returns when the API server is ready. */
export async function startControlPlane(places: ClusterFolders): Promise<void> {
  launchControlPlane(places, 'etcd');
  await until('etcd', 60, async () => (await fetch(`${ETCD}/health`, { signal: AbortSignal.timeout(1000) })).ok);
  launchControlPlane(places, 'apiserver');
  await awaitApiServer(places);
  launchControlPlane(places, 'controller-manager');
  launchControlPlane(places, 'scheduler');
  writeFileSync(join(places.settings, 'Corefile'), writeCorefile(places));
  const { code, stderr } = await kubectl(
    places,
    ['apply', '--server-side', '--force-conflicts', '-f', '-'],
    JSON.stringify(renderDns()),
  );
  if (code !== 0) throw new Error(`the Service of DNS could not be made: ${stderr}`);
  launchControlPlane(places, 'coredns');
}
