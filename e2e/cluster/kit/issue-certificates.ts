import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { run } from '../run-program.ts';
import {
  API_ADDRESS,
  API_URL,
  API_URL_OF_NODES,
  DOMAIN,
  HOST,
  nodesOf,
  type ClusterFolders,
} from './cluster-folders.ts';

const NEW_KEY = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-noenc'];
const API_NAMES = [
  'DNS:kubernetes',
  'DNS:kubernetes.default',
  'DNS:kubernetes.default.svc',
  `DNS:kubernetes.default.svc.${DOMAIN}`,
  'DNS:localhost',
  'IP:127.0.0.1',
  `IP:${HOST}`,
  `IP:${API_ADDRESS}`,
];

/** The subject of each client certificate, by file. */
const CLIENTS: Record<string, string> = {
  'apiserver-kubelet': '/O=system:masters/CN=apiserver-kubelet-client',
  'front-proxy': '/CN=front-proxy-client',
  admin: '/O=system:masters/CN=admin',
  controllers: '/CN=system:kube-controller-manager',
  scheduler: '/CN=system:kube-scheduler',
  proxy: '/CN=system:kube-proxy',
  coredns: '/CN=system:coredns',
};

async function makeAuthority({ certificates }: ClusterFolders): Promise<void> {
  const [certificate, key] = [join(certificates, 'ca.crt'), join(certificates, 'ca.key')];
  if (existsSync(certificate)) return;
  const usage = ['-addext', 'keyUsage=critical,keyCertSign,cRLSign'];
  const out = ['-keyout', key, '-out', certificate];
  await run('openssl', ['req', '-x509', '-days', '365', '-subj', '/CN=vmcp-e2e', ...NEW_KEY, ...usage, ...out]);
}

interface Wanted {
  file: string;
  subject: string;
  /** Absent: for a client. */
  names?: string[];
}

async function issue({ certificates }: ClusterFolders, { file, subject, names }: Wanted): Promise<void> {
  const path = (name: string) => join(certificates, name);
  if (existsSync(path(`${file}.crt`))) return;
  const extensions = [
    'basicConstraints=critical,CA:FALSE',
    'keyUsage=critical,digitalSignature',
    `extendedKeyUsage=${names ? 'serverAuth' : 'clientAuth'}`,
    ...(names ? [`subjectAltName=${names.join(',')}`] : []),
  ].flatMap((extension) => ['-addext', extension]);
  const signer = ['-CA', path('ca.crt'), '-CAkey', path('ca.key')];
  const out = ['-keyout', path(`${file}.key`), '-out', path(`${file}.crt`)];
  await run('openssl', [
    'req',
    '-x509',
    ...signer,
    '-days',
    '365',
    '-subj',
    subject,
    ...NEW_KEY,
    ...extensions,
    ...out,
  ]);
}

/** Creates the key that signs the tokens of service accounts. */
async function makeTokenKey({ certificates }: ClusterFolders): Promise<void> {
  const file = join(certificates, 'tokens.key');
  if (!existsSync(file)) await run('openssl', ['genrsa', '-out', file, '2048']);
}

/** Issues certificates for the control plane and for each node. Existing certificates stay. */
export async function issueCertificates(places: ClusterFolders, nodes: number): Promise<void> {
  await makeAuthority(places);
  await Promise.all([
    makeTokenKey(places),
    issue(places, { file: 'apiserver', subject: '/CN=kube-apiserver', names: API_NAMES }),
    ...Object.entries(CLIENTS).map(([file, subject]) => issue(places, { file, subject })),
    ...nodesOf(nodes).flatMap(({ name, address }) => {
      const subject = `/O=system:nodes/CN=system:node:${name}`;
      return [
        issue(places, { file: name, subject }),
        issue(places, { file: `${name}-serving`, subject, names: [`DNS:${name}`, `IP:${address}`] }),
      ];
    }),
  ]);
  for (const client of ['admin', 'controllers', 'scheduler', 'coredns']) writeKubeconfig(places, client, API_URL);
  for (const client of ['proxy', ...nodesOf(nodes).map(({ name }) => name)]) {
    writeKubeconfig(places, client, API_URL_OF_NODES);
  }
}

/** Writes a self-contained `<client>.kubeconfig`. */
function writeKubeconfig(places: ClusterFolders, client: string, server: string): void {
  const base64 = (file: string) => readFileSync(join(places.certificates, file)).toString('base64');
  const kubeconfig = {
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name: 'vmcp', cluster: { server, 'certificate-authority-data': base64('ca.crt') } }],
    users: [
      {
        name: client,
        user: { 'client-certificate-data': base64(`${client}.crt`), 'client-key-data': base64(`${client}.key`) },
      },
    ],
    contexts: [{ name: 'vmcp', context: { cluster: 'vmcp', user: client } }],
    'current-context': 'vmcp',
  };
  writeFileSync(join(places.settings, `${client}.kubeconfig`), JSON.stringify(kubeconfig, null, 2), { mode: 0o600 });
}
