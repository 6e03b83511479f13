import { transportOf } from '#crds/kinds/index';
import type { ClusterFacts } from '../snapshot.ts';
import { secretVariables, variablesOf } from './container-command.ts';
import { withDefaults } from './default-resources.ts';
import { defined } from './defined.ts';
import type { BackendSpec } from './find-group-members.ts';
import { RESTRICTED, RESTRICTED_POD, topologySpread } from './object-parts.ts';
import { leaveService } from './leave-service.ts';
import { CONTAINER_PORT } from './reach-backend.ts';
import type { Permissions } from './read-permission-profile.ts';
import { type Bridge, pipedCommand, PIPES_MOUNT } from './render-bridge.ts';

const BACKEND_RESOURCES = { requests: { cpu: '50m', memory: '64Mi' }, limits: { cpu: '1', memory: '512Mi' } };

export function programPort(spec: BackendSpec): number | undefined {
  return transportOf(spec) === 'stdio' ? undefined : (spec.mcpPort ?? CONTAINER_PORT);
}

/** Keeps values of Secrets as references, which the kubelet reads. */
function renderEnv(spec: BackendSpec) {
  const plain = Object.entries(variablesOf(spec, '0.0.0.0', programPort(spec))).map(([name, value]) => ({
    name,
    value,
  }));
  const secret = Object.entries(secretVariables(spec)).map(([name, secretKeyRef]) => ({
    name,
    valueFrom: { secretKeyRef },
  }));
  return [...plain, ...secret];
}

/** Renders folders of the node that the administrator allows. Their names must not collide with rendered volumes. */
function renderFolders(spec: BackendSpec, { folders }: Permissions) {
  const permitted = folders.map((folder, index) => ({ name: `profile-${index}`, ...folder }));
  const written = (spec.volumes ?? []).map((volume) => ({ ...volume, name: `host-${volume.name}` }));
  return [...written, ...permitted].map(({ name, hostPath, mountPath, readOnly }) => ({
    volume: { name, hostPath: { path: hostPath } },
    mount: { name, mountPath, readOnly },
  }));
}

function renderStart(spec: BackendSpec) {
  const port = programPort(spec);
  if (port === undefined)
    return spec.command ? pipedCommand(spec.command, spec.args) : { args: spec.args, stdin: true };
  return {
    command: spec.command,
    args: spec.args,
    ports: [{ name: 'mcp', containerPort: port, protocol: 'TCP' }],
    readinessProbe: { tcpSocket: { port: 'mcp' }, periodSeconds: 5, timeoutSeconds: 2 },
    lifecycle: leaveService(spec.podTemplateSpec),
  };
}

function renderContainer(spec: BackendSpec, permissions: Permissions) {
  const folders = renderFolders(spec, permissions).map(({ mount }) => mount);
  const pipes = programPort(spec) === undefined && spec.command ? [PIPES_MOUNT] : [];
  return defined({
    name: 'mcp',
    image: spec.image,
    ...renderStart(spec),
    env: renderEnv(spec),
    resources: withDefaults(spec.resources, BACKEND_RESOURCES),
    securityContext: permissions.privileged ? { privileged: true } : RESTRICTED,
    volumeMounts: [{ name: 'tmp', mountPath: '/tmp' }, ...folders, ...pipes],
  });
}

/** Renders the pod of an MCPServer's program. `bridge`: serves it over HTTP. */
export function renderProgramPod(
  spec: BackendSpec,
  permissions: Permissions,
  bridge: Bridge | undefined,
  { imagePullSecrets = [] }: ClusterFacts,
  selector: Record<string, string>,
) {
  return defined({
    imagePullSecrets: imagePullSecrets.length === 0 ? undefined : imagePullSecrets.map((name) => ({ name })),
    serviceAccountName: spec.serviceAccount ?? bridge?.account,
    automountServiceAccountToken: spec.automountServiceAccountToken ?? false,
    enableServiceLinks: false,
    securityContext: permissions.privileged ? undefined : RESTRICTED_POD,
    topologySpreadConstraints: topologySpread(selector),
    initContainers: bridge && bridge.initContainers.length > 0 ? bridge.initContainers : undefined,
    containers: [renderContainer(spec, permissions), ...(bridge ? [bridge.container] : [])],
    volumes: [
      { name: 'tmp', emptyDir: { sizeLimit: '256Mi' } },
      ...renderFolders(spec, permissions).map(({ volume }) => volume),
      ...(bridge?.volumes ?? []),
    ],
  });
}
