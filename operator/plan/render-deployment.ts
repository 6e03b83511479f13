import type { Manifest, World } from '../world.ts';
import { credentialsOf, runtimeChild } from './child-names.ts';
import { defined } from './defined.ts';
import { ownedMetadata, selectorOf } from './object-parts.ts';
import type { ClusterObject, Rendered } from './outcome.ts';
import { configMapName } from './render-config-map.ts';
import type { ServerSpec } from './render-run-config.ts';

/** What the Restricted pod security standard asks of a container. */
export const RESTRICTED = {
  allowPrivilegeEscalation: false,
  capabilities: { drop: ['ALL'] },
  readOnlyRootFilesystem: true,
  runAsNonRoot: true,
};

/** The same for the pod. */
export const RESTRICTED_POD = { runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } };

/** Requests and limits where none are written. */
const RUNTIME_RESOURCES = {
  requests: { cpu: '100m', memory: '128Mi' },
  limits: { cpu: '1', memory: '512Mi' },
};

const probe = (path: string, periodSeconds: number, failureThreshold: number) => ({
  httpGet: { path, port: 'private' },
  periodSeconds,
  failureThreshold,
  timeoutSeconds: 2,
});

function renderContainer(spec: ServerSpec, rendered: Rendered, image: string) {
  return {
    name: 'vmcp',
    image,
    args: ['--config', `${rendered.configDirectory}/run-config.yaml`],
    ports: [
      { name: 'mcp', containerPort: 4483, protocol: 'TCP' },
      { name: 'private', containerPort: 4484, protocol: 'TCP' },
    ],
    startupProbe: probe('/healthz', 1, 60),
    livenessProbe: probe('/healthz', 10, 3),
    readinessProbe: probe('/readyz', 5, 2),
    // The endpoint leaves the Service while requests still come in; without a pause some of them are refused.
    lifecycle: { preStop: { sleep: { seconds: 1 } } },
    resources: spec.resources ?? RUNTIME_RESOURCES,
    securityContext: RESTRICTED,
    volumeMounts: [
      { name: 'config', mountPath: rendered.configDirectory, readOnly: true },
      { name: 'credentials', mountPath: rendered.secretDirectory, readOnly: true },
      { name: 'tmp', mountPath: '/tmp' },
    ],
  };
}

/** Volumes are mounted whole, so that a new reference never changes the pod. */
function renderVolumes(server: string) {
  return [
    { name: 'config', configMap: { name: configMapName(server) } },
    { name: 'credentials', secret: { secretName: credentialsOf(runtimeChild(server)), defaultMode: 0o440 } },
    { name: 'tmp', emptyDir: { sizeLimit: '64Mi' } },
  ];
}

/** One replica that remembers sessions by itself must not run twice, not even while it is replaced. */
function renderStrategy(spec: ServerSpec) {
  const storage = spec.sessionStorage ?? spec.config.sessionStorage;
  if (storage?.provider !== 'redis') return { type: 'Recreate' };
  return { type: 'RollingUpdate', rollingUpdate: { maxUnavailable: 0, maxSurge: 1 } };
}

/** The pods of a VirtualMCPServer. */
export function renderRuntimeDeployment(
  manifest: Manifest,
  spec: ServerSpec,
  rendered: Rendered,
  image: string,
  world: World,
): ClusterObject['object'] {
  const { name } = manifest.metadata;
  const selector = selectorOf(manifest);
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: ownedMetadata(runtimeChild(name), manifest, world),
    spec: defined({
      // With autoscaling the number belongs to the autoscaler.
      replicas: spec.autoscaling ? undefined : (spec.replicas ?? 1),
      strategy: renderStrategy(spec),
      selector: { matchLabels: selector },
      template: {
        metadata: { labels: selector },
        spec: defined({
          serviceAccountName: spec.serviceAccount ?? runtimeChild(name),
          automountServiceAccountToken: false,
          enableServiceLinks: false,
          securityContext: { ...RESTRICTED_POD, fsGroup: 65_532 },
          imagePullSecrets: spec.imagePullSecrets,
          terminationGracePeriodSeconds: 30,
          containers: [renderContainer(spec, rendered, image)],
          volumes: renderVolumes(name),
        }),
      },
    }),
  };
}
