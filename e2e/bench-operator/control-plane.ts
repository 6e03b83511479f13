import { type ChildProcess, spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { prepare } from '../cluster/kit/bring-up.ts';
import { issueCertificates } from '../cluster/kit/issue-certificates.ts';
import {
  API_URL,
  HOST,
  type ClusterFolders,
  clusterFolders,
  SERVICE_RANGE,
  defaultFolders,
} from '../cluster/kit/cluster-folders.ts';
import { until } from '../cluster/kit/processes.ts';
import { runProgram } from '../cluster/run-program.ts';
import { findFreePort } from '../gateway/find-free-port.ts';

/** etcd and an API server without controllers, nodes and pods. */
export interface ControlPlane {
  kubeconfig: string;
  apiServer: number;
  etcd: number;
  kubectl(args: string[]): Promise<string>;
  close(): Promise<void>;
}

function start(places: ClusterFolders, name: string, args: string[]): ChildProcess {
  const log = openSync(join(places.logs, `${name}.log`), 'a');
  const child = spawn(join(places.bin, 'kube'), [name, ...args], { stdio: ['ignore', log, log] });
  process.once('exit', () => child.kill('SIGKILL'));
  return child;
}

const etcdFlags = (places: ClusterFolders, [client, peer]: [number, number]) => [
  '--name=bench',
  `--data-dir=${join(places.run, 'etcd')}`,
  '--unsafe-no-fsync=true',
  '--log-level=warn',
  `--listen-client-urls=http://127.0.0.1:${client}`,
  `--advertise-client-urls=http://127.0.0.1:${client}`,
  `--listen-peer-urls=http://127.0.0.1:${peer}`,
  `--initial-advertise-peer-urls=http://127.0.0.1:${peer}`,
  `--initial-cluster=bench=http://127.0.0.1:${peer}`,
];

const apiServerFlags = ({ certificates }: ClusterFolders, etcd: number, port: number) => [
  `--etcd-servers=http://127.0.0.1:${etcd}`,
  '--bind-address=127.0.0.1',
  `--advertise-address=${HOST}`,
  `--secure-port=${port}`,
  `--service-cluster-ip-range=${SERVICE_RANGE}`,
  `--tls-cert-file=${join(certificates, 'apiserver.crt')}`,
  `--tls-private-key-file=${join(certificates, 'apiserver.key')}`,
  `--client-ca-file=${join(certificates, 'ca.crt')}`,
  '--service-account-issuer=https://kubernetes.default.svc',
  `--service-account-key-file=${join(certificates, 'tokens.key')}`,
  `--service-account-signing-key-file=${join(certificates, 'tokens.key')}`,
  '--authorization-mode=RBAC',
];

/** Starts etcd and the API server on free ports, with a temporary folder that is removed with them. */
export async function startControlPlane(tell: (line: string) => void): Promise<ControlPlane> {
  await prepare(defaultFolders(), tell);
  const base = mkdtempSync(join(tmpdir(), 'vmcp-bench-operator-'));
  const { kubernetes, bin, sharedBin } = defaultFolders();
  const places: ClusterFolders = { ...clusterFolders(base, kubernetes), bin, sharedBin };
  for (const folder of [places.certificates, places.logs, places.settings]) mkdirSync(folder, { recursive: true });
  const [client, peer, port] = [await findFreePort(), await findFreePort(), await findFreePort()];
  await issueCertificates(places, 0);
  const written = readFileSync(places.kubeconfig, 'utf8').replace(API_URL, `https://127.0.0.1:${port}`);
  writeFileSync(places.kubeconfig, written, { mode: 0o600 });
  const etcd = start(places, 'etcd', etcdFlags(places, [client, peer]));
  await until('etcd', 60, async () => (await fetch(`http://127.0.0.1:${client}/health`)).ok);
  const apiServer = start(places, 'kube-apiserver', apiServerFlags(places, client, port));
  const kubectl = async (args: string[]) => {
    const all = ['--kubeconfig', places.kubeconfig, ...args];
    const { code, stdout, stderr } = await runProgram(join(places.bin, 'kubectl'), all, { deadline: 60_000 });
    if (code !== 0) throw new Error(stderr);
    return stdout;
  };
  await until('kube-apiserver', 120, async () => (await kubectl(['get', '--raw', '/readyz'])) === 'ok');
  return {
    kubeconfig: places.kubeconfig,
    apiServer: apiServer.pid ?? 0,
    etcd: etcd.pid ?? 0,
    kubectl,
    async close() {
      for (const child of [apiServer, etcd]) {
        const ended = new Promise((resolve) => child.once('exit', resolve));
        child.kill('SIGKILL');
        await ended;
      }
      rmSync(base, { recursive: true, force: true });
    },
  };
}
