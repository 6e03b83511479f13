import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { IMAGES } from './images.ts';
import type { Written } from './send-manifests.ts';
import { secret, type Stage } from './stage.ts';

const NAME = 'remote-server';
const PORT = 8443;
const ISSUER_PORT = 8444;

/** Makes a self-signed certificate in PEM, valid for one day. */
function makeCertificate(address: string): { cert: string; key: string } {
  const folder = mkdtempSync(join(tmpdir(), 'vmcp-remote-'));
  try {
    const [cert, key] = [join(folder, 'cert.pem'), join(folder, 'key.pem')];
    const made = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-keyout', key, '-out', cert];
    const names = ['-subj', `/CN=${NAME}`, '-addext', `subjectAltName=IP:${address}`];
    execFileSync('openssl', ['req', '-x509', '-days', '1', ...made, ...names], { stdio: 'ignore' });
    return { cert: readFileSync(cert, 'utf8'), key: readFileSync(key, 'utf8') };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/**
 * Runs a remote MCP server and its authorization server, by https in a pod of a stage. Returns its URL, which pods and
 * this machine can reach. The ConfigMap `remote-server` has its authority under `ca.crt`.
 */
export async function startRemoteServer(stage: Stage): Promise<string> {
  const ports = [PORT, ISSUER_PORT].map((port) => ({ name: `p${port}`, port }));
  const metadata = { name: NAME };
  await stage.apply({ apiVersion: 'v1', kind: 'Service', metadata, spec: { selector: { app: NAME }, ports } });
  const { clusterIP = '' } = ((await stage.get('Service', NAME))?.spec ?? {}) as { clusterIP?: string };
  const { cert, key } = makeCertificate(clusterIP);
  const host = clusterIP.includes(':') ? `[${clusterIP}]` : clusterIP;
  const flags = { host, port: PORT, 'issuer-port': ISSUER_PORT, cert: '/tls/cert', key: '/tls/key' };
  const container = {
    name: NAME,
    image: IMAGES.backends,
    command: ['node', '/app/e2e/fakes/remote-server/main.ts'],
    args: Object.entries(flags).flatMap(([flag, value]) => [`--${flag}`, String(value)]),
    // It requests keys from its authorization server like any other client.
    env: [{ name: 'NODE_EXTRA_CA_CERTS', value: '/tls/cert' }],
    volumeMounts: [{ name: 'tls', mountPath: '/tls' }],
    readinessProbe: { tcpSocket: { port: PORT }, periodSeconds: 1 },
  };
  const pod = { containers: [container], volumes: [{ name: 'tls', secret: { secretName: NAME } }] };
  const authority: Written & { data: object } = {
    ...{ apiVersion: 'v1', kind: 'ConfigMap', metadata },
    data: { 'ca.crt': cert },
  };
  await stage.apply(secret(NAME, { cert, key }), authority, {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata,
    spec: {
      selector: { matchLabels: { app: NAME } },
      template: { metadata: { labels: { app: NAME } }, spec: pod },
    },
  });
  const rollout = ['-n', stage.namespace.name, 'rollout', 'status', `deployment/${NAME}`, '--timeout=55s'];
  const { code, stderr } = await stage.cluster.kubectl(rollout);
  if (code !== 0) throw new Error(`the remote server: ${stderr}`);
  return `https://${host}:${PORT}/mcp`;
}
