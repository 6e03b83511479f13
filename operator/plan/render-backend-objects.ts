import { contentHash, type Manifest, type World } from '../world.ts';
import { backendChild } from './child-names.ts';
import { secretVariables } from './command-of-backend.ts';
import { defined } from './defined.ts';
import { secretDigest } from './file-list.ts';
import type { BackendSpec } from './find-group-members.ts';
import { ownedMetadata, selectorOf } from './object-parts.ts';
import type { Child, ClusterObject } from './outcome.ts';
import { CONTAINER_PORT } from './reach-backend.ts';
import { RESTRICTED, RESTRICTED_POD } from './render-deployment.ts';
import { renderBackendService } from './render-service.ts';

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
function renderVolumes(spec: BackendSpec) {
  return (spec.volumes ?? []).map(({ name, hostPath, mountPath, readOnly }) => ({
    volume: { name: `host-${name}`, hostPath: { path: hostPath } },
    mount: { name: `host-${name}`, mountPath, readOnly },
  }));
}

/** Any change of it rolls this backend: its secrets are environment variables, which do not change in a running process. */
function rollToken(spec: BackendSpec, restartedAt: string, place: string, world: World): string {
  const digests = Object.values(secretVariables(spec)).map((reference) => secretDigest(world, reference, place));
  return contentHash(JSON.stringify([digests, restartedAt]));
}

function renderDeployment(manifest: Manifest, spec: BackendSpec, token: string, world: World): ClusterObject['object'] {
  const selector = selectorOf(manifest);
  const written = renderVolumes(spec);
  const container = defined({
    name: 'mcp',
    image: spec.image,
    command: spec.command,
    args: spec.args,
    env: renderEnv(spec),
    ports: [{ name: 'mcp', containerPort: spec.mcpPort ?? CONTAINER_PORT, protocol: 'TCP' }],
    readinessProbe: { tcpSocket: { port: 'mcp' }, periodSeconds: 5, timeoutSeconds: 2 },
    lifecycle: { preStop: { sleep: { seconds: 1 } } },
    resources: spec.resources ?? BACKEND_RESOURCES,
    securityContext: RESTRICTED,
    volumeMounts: [{ name: 'tmp', mountPath: '/tmp' }, ...written.map(({ mount }) => mount)],
  });
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: ownedMetadata(backendChild(manifest.metadata.name), manifest, world),
    spec: {
      replicas: spec.backendReplicas ?? 1,
      selector: { matchLabels: selector },
      template: {
        metadata: { labels: selector, annotations: { [`${world.apiGroup}/roll-token`]: token } },
        spec: defined({
          serviceAccountName: spec.serviceAccount,
          automountServiceAccountToken: false,
          enableServiceLinks: false,
          securityContext: RESTRICTED_POD,
          containers: [container],
          volumes: [{ name: 'tmp', emptyDir: { sizeLimit: '256Mi' } }, ...written.map(({ volume }) => volume)],
        }),
      },
    },
  };
}

/** The objects of a backend image that speaks HTTP. Throws `Waiting` for a Secret that is not there. */
export function renderBackendObjects(
  manifest: Manifest,
  spec: BackendSpec,
  restartedAt: string,
  world: World,
): Child[] {
  const token = rollToken(spec, restartedAt, `MCPServer "${manifest.metadata.name}" secrets`, world);
  const port = spec.mcpPort ?? CONTAINER_PORT;
  return [
    { platform: 'cluster', object: renderDeployment(manifest, spec, token, world) },
    { platform: 'cluster', object: renderBackendService(manifest, port, world) },
  ];
}
