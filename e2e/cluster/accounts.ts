import { createPrivateKey, sign } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { parseAllDocuments, stringify } from 'yaml';
import { renderChart } from './chart.ts';
import type { Cluster } from './use-cluster.ts';

const RBAC = 'rbac.authorization.k8s.io';
const ROLES = new Set(['ServiceAccount', 'Role', 'ClusterRole', 'RoleBinding', 'ClusterRoleBinding']);
const LIFESPAN_SECONDS = 3600;

/**
 * Applies only the accounts and roles of the chart, including its roles for users, as a release in a namespace. Returns
 * a function that deletes them.
 */
export async function applyRoles(
  cluster: Cluster,
  release: string,
  namespace: string,
  values: readonly string[],
): Promise<() => Promise<void>> {
  const text = await renderChart([...values, `--namespace=${namespace}`], release);
  const items = parseAllDocuments(text)
    .map((document) => document.toJS() as { kind: string } | null)
    .filter((object) => object !== null && ROLES.has(object.kind));
  const list = JSON.stringify({ apiVersion: 'v1', kind: 'List', items });
  const { code, stderr } = await cluster.kubectl(['apply', '-f', '-'], list);
  if (code !== 0) throw new Error(stderr);
  return async () => {
    await cluster.kubectl(['delete', '--ignore-not-found', '--wait=false', '-f', '-'], list);
  };
}

/** Creates a service account with roles in one namespace: names of ClusterRoles, or rules. */
export async function makeAccount(
  cluster: Cluster,
  { namespace, name }: { namespace: string; name: string },
  roles: readonly (string | object)[],
  where = namespace,
): Promise<void> {
  const made = async (path: string, object: object) => {
    const { status, body } = await cluster.ask('POST', path, object);
    if (status !== 201) throw new Error(`${path}: ${JSON.stringify(body)}`);
  };
  await made(`/api/v1/namespaces/${namespace}/serviceaccounts`, { metadata: { name } });
  for (const [index, role] of roles.entries()) {
    const path = `/apis/${RBAC}/v1/namespaces/${where}`;
    const own = `${name}-${index}`;
    if (typeof role !== 'string') await made(`${path}/roles`, { metadata: { name: own }, rules: [role] });
    await made(`${path}/rolebindings`, {
      metadata: { name: own },
      roleRef: {
        apiGroup: RBAC,
        kind: typeof role === 'string' ? 'ClusterRole' : 'Role',
        name: typeof role === 'string' ? role : own,
      },
      subjects: [{ kind: 'ServiceAccount', name, namespace }],
    });
  }
}

/** Returns a token of a service account, by default for the audience of the API server. */
export async function tokenOf(
  cluster: Cluster,
  { namespace, name }: { namespace: string; name: string },
  audience?: string,
): Promise<string> {
  const { status, body } = await cluster.ask('POST', `/api/v1/namespaces/${namespace}/serviceaccounts/${name}/token`, {
    apiVersion: 'authentication.k8s.io/v1',
    kind: 'TokenRequest',
    spec: { expirationSeconds: LIFESPAN_SECONDS, ...(audience !== undefined && { audiences: [audience] }) },
  });
  if (status !== 201) throw new Error(JSON.stringify(body));
  return (body as { status: { token: string } }).status.token;
}

/** Writes a kubeconfig for an account and a namespace, and returns its path. */
export async function kubeconfigOf(
  cluster: Cluster,
  { namespace, name }: { namespace: string; name: string },
  file: string,
  server = cluster.config.getCurrentCluster()?.server,
): Promise<string> {
  const { caData, caFile } = cluster.config.getCurrentCluster() ?? {};
  const authority = caData ?? readFileSync(caFile ?? '').toString('base64');
  const user = { token: await tokenOf(cluster, { namespace, name }) };
  const config = {
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': 'e2e',
    clusters: [{ name: 'e2e', cluster: { server, 'certificate-authority-data': authority } }],
    users: [{ name: 'e2e', user }],
    contexts: [{ name: 'e2e', context: { cluster: 'e2e', user: 'e2e', namespace } }],
  };
  writeFileSync(file, stringify(config), { mode: 0o600 });
  return file;
}

/**
 * Signs the same token with another expiry, in seconds since 1970. Returns undefined without the cluster's signing key.
 */
export function withExpiry({ kubeconfig }: Cluster, token: string, exp: number): string | undefined {
  const file = join(dirname(dirname(kubeconfig)), 'certificates/tokens.key');
  if (!existsSync(file)) return undefined;
  const [header = '', payload = ''] = token.split('.');
  const claims = JSON.parse(Buffer.from(payload, 'base64url').toString()) as object;
  const signed = `${header}.${Buffer.from(JSON.stringify({ ...claims, exp })).toString('base64url')}`;
  const signature = sign('sha256', Buffer.from(signed), createPrivateKey(readFileSync(file)));
  return `${signed}.${signature.toString('base64url')}`;
}
