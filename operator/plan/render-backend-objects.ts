import { contentHash, type ClusterFacts, type Manifest, type World } from '../world.ts';
import { applyPodTemplate, checkServiceAccount } from './apply-pod-template.ts';
import { checkHostAccess } from './check-host-access.ts';
import { backendChild } from './child-names.ts';
import { secretVariables } from './command-of-backend.ts';
import { defined } from './defined.ts';
import { secretDigest } from './file-list.ts';
import type { BackendSpec } from './find-group-members.ts';
import { backendSelector, ownedMetadata, restartedAt, topologySpread } from './object-parts.ts';
import type { ClusterObject } from './outcome.ts';
import type { Program } from './plan-backend.ts';
import { RESTRICTED, RESTRICTED_POD } from './pod-security.ts';
import { CONTAINER_PORT } from './reach-backend.ts';
import { type Permissions, readPermissionProfile } from './read-permission-profile.ts';
import { renderBackendNetworkPolicy } from './render-network-policy.ts';
import type { Finding } from './summarise-status.ts';
import { renderBackendService, renderPodsService } from './render-service.ts';

/** Host names that a message names. */
const NAMED = 10;

const BACKEND_RESOURCES = { requests: { cpu: '50m', memory: '64Mi' }, limits: { cpu: '1', memory: '512Mi' } };

/** Variables with values of Secrets stay references: the kubelet reads them. */
function renderEnv(spec: BackendSpec) {
  const plain = (spec.env ?? []).map(({ name, value }) => ({ name, value }));
  const secret = Object.entries(secretVariables(spec)).map(([name, secretKeyRef]) => ({
    name,
    valueFrom: { secretKeyRef },
  }));
  return [...plain, ...secret];
}

/** Folders of the node, where the administrator allows them. A written one may not take the name of ours. */
function renderFolders(spec: BackendSpec, { folders }: Permissions) {
  const permitted = folders.map((folder, index) => ({ name: `profile-${index}`, ...folder }));
  const written = (spec.volumes ?? []).map((volume) => ({ ...volume, name: `host-${volume.name}` }));
  return [...written, ...permitted].map(({ name, hostPath, mountPath, readOnly }) => ({
    volume: { name, hostPath: { path: hostPath } },
    mount: { name, mountPath, readOnly },
  }));
}

/** Any change of it rolls this backend: its secrets are environment variables, which do not change in a running process. */
function rollToken(manifest: Manifest, spec: BackendSpec, world: World): string {
  const place = `MCPServer "${manifest.metadata.name}" secrets`;
  const digests = Object.values(secretVariables(spec)).map((reference) => secretDigest(world, reference, place));
  return contentHash(JSON.stringify([digests, restartedAt(manifest)]));
}

function renderContainer(spec: BackendSpec, permissions: Permissions) {
  const folders = renderFolders(spec, permissions);
  return defined({
    name: 'mcp',
    image: spec.image,
    command: spec.command,
    args: spec.args,
    env: renderEnv(spec),
    ports: [{ name: 'mcp', containerPort: spec.mcpPort ?? CONTAINER_PORT, protocol: 'TCP' }],
    readinessProbe: { tcpSocket: { port: 'mcp' }, periodSeconds: 5, timeoutSeconds: 2 },
    lifecycle: { preStop: { sleep: { seconds: 1 } } },
    resources: spec.resources ?? BACKEND_RESOURCES,
    securityContext: permissions.privileged ? { privileged: true } : RESTRICTED,
    volumeMounts: [{ name: 'tmp', mountPath: '/tmp' }, ...folders.map(({ mount }) => mount)],
  });
}

function renderPod(
  spec: BackendSpec,
  permissions: Permissions,
  { imagePullSecrets = [] }: ClusterFacts,
  selector: Record<string, string>,
) {
  return defined({
    imagePullSecrets: imagePullSecrets.length === 0 ? undefined : imagePullSecrets.map((name) => ({ name })),
    serviceAccountName: spec.serviceAccount,
    // Who names an account means its rights.
    automountServiceAccountToken: spec.serviceAccount !== undefined,
    enableServiceLinks: false,
    securityContext: permissions.privileged ? undefined : RESTRICTED_POD,
    topologySpreadConstraints: topologySpread(selector),
    containers: [renderContainer(spec, permissions)],
    volumes: [
      { name: 'tmp', emptyDir: { sizeLimit: '256Mi' } },
      ...renderFolders(spec, permissions).map(({ volume }) => volume),
    ],
  });
}

function renderDeployment(
  manifest: Manifest,
  spec: BackendSpec,
  permissions: Permissions,
  cluster: ClusterFacts,
  world: World,
): ClusterObject['object'] {
  checkServiceAccount(manifest, spec.serviceAccount, cluster, world);
  const selector = backendSelector(manifest);
  const template = {
    metadata: {
      labels: selector,
      annotations: { [`${world.apiGroup}/roll-token`]: rollToken(manifest, spec, world) },
    },
    spec: renderPod(spec, permissions, cluster, selector),
  };
  const written = { manifest, template: spec.podTemplateSpec, ours: [] };
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: ownedMetadata(backendChild(manifest.metadata.name), selector, manifest, world),
    spec: {
      replicas: spec.backendReplicas ?? 1,
      selector: { matchLabels: selector },
      template: applyPodTemplate(template, written, cluster, world),
    },
  };
}

/** What a permission profile asks for and no NetworkPolicy can do. */
function notEnforced({ unenforced }: Permissions): Finding[] {
  if (unenforced.length === 0) return [];
  const names = unenforced.slice(0, NAMED).join(', ') + (unenforced.length > NAMED ? ' and more' : '');
  const message = `A NetworkPolicy knows no host names, so every address may be reached, not ${names} alone: write address ranges in allow_host, or limit egress by a proxy or a mesh.`;
  return [{ type: 'EgressNotEnforced', status: 'True', reason: 'HostNames', message }];
}

/** The objects of a backend image that speaks HTTP. Throws `Waiting` for a Secret that is not there. */
export function renderBackendObjects(
  manifest: Manifest,
  spec: BackendSpec,
  cluster: ClusterFacts,
  world: World,
): Program {
  const { name } = manifest.metadata;
  const permissions = readPermissionProfile(name, spec, world);
  checkHostAccess(
    name,
    [
      ...permissions.folders.map(() => ({ field: 'permissionProfile read and write', what: 'hostPath' as const })),
      ...(permissions.privileged ? [{ field: 'permissionProfile privileged', what: 'privileged' as const }] : []),
    ].slice(0, 1),
    cluster,
  );
  const port = spec.mcpPort ?? CONTAINER_PORT;
  const objects = [
    renderDeployment(manifest, spec, permissions, cluster, world),
    renderBackendService(manifest, port, world),
    ...((spec.backendReplicas ?? 1) > 1 ? [renderPodsService(manifest, port, world)] : []),
    renderBackendNetworkPolicy(manifest, permissions.egress, world),
  ];
  return {
    children: objects.map((object) => ({ platform: 'cluster', object })),
    warnings: notEnforced(permissions),
  };
}
