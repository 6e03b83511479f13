import type { ClusterFacts, Manifest, Snapshot } from '../snapshot.ts';
import { applyPodTemplate, checkServiceAccount } from './apply-pod-template.ts';
import { credentialsOf } from './child-names.ts';
import { withDefaults } from './default-resources.ts';
import { defined } from './defined.ts';
import {
  childOf,
  ownedMetadata,
  podAnnotations,
  probe,
  RESTRICTED,
  RESTRICTED_POD,
  runtimeSelector,
  topologySpread,
} from './object-parts.ts';
import type { ClusterObject, Rendered } from './outcome.ts';
import { leaveService } from './leave-service.ts';
import { configMapName } from './render-config-map.ts';
import { keepsStateInProcess } from './check-replicas.ts';
import type { ServerSpec } from './server-spec.ts';
import { replicasOf } from './render-scaling.ts';

const RUNTIME_RESOURCES = {
  requests: { cpu: '100m', memory: '128Mi' },
  limits: { cpu: '1', memory: '512Mi' },
};

/** `GRACE`: seconds that a pod has to end. `DRAIN`: seconds of these for calls in flight, after the pod has left the Service. */
const GRACE = 35;
const DRAIN = 25;

function renderContainer(spec: ServerSpec, rendered: Rendered, { runtimeImage: image, runtimeEnv }: ClusterFacts) {
  const { port = 4483, private_port: privatePort = 4484 } = rendered.document.listen ?? {};
  return defined({
    name: 'vmcp',
    image,
    args: [
      ...['--config', `${rendered.configDirectory}/run-config.yaml`, '--allowed-digests', rendered.secretDirectory],
      ...['--drain', String(DRAIN)],
    ],
    env: runtimeEnv && runtimeEnv.length > 0 ? runtimeEnv : undefined,
    ports: [
      { name: 'mcp', containerPort: port, protocol: 'TCP' },
      { name: 'private', containerPort: privatePort, protocol: 'TCP' },
    ],
    startupProbe: probe('/healthz', 1, 60),
    livenessProbe: probe('/healthz', 10, 3),
    readinessProbe: probe('/readyz', 5, 2),
    lifecycle: leaveService(spec.podTemplateSpec),
    resources: withDefaults(spec.resources, RUNTIME_RESOURCES),
    securityContext: RESTRICTED,
    volumeMounts: [
      { name: 'config', mountPath: rendered.configDirectory, readOnly: true },
      { name: 'credentials', mountPath: rendered.secretDirectory, readOnly: true },
      { name: 'tmp', mountPath: '/tmp' },
    ],
  });
}

/** Mounts whole volumes, so that a new reference never changes the pod. */
function renderVolumes(child: string) {
  return [
    { name: 'config', configMap: { name: configMapName(child) } },
    { name: 'credentials', secret: { secretName: credentialsOf(child), defaultMode: 0o440 } },
    { name: 'tmp', emptyDir: { sizeLimit: '64Mi' } },
  ];
}

/** Prevents a second pod of one replica with state in memory, also during a roll-out. */
function renderStrategy(spec: ServerSpec) {
  if (keepsStateInProcess(spec)) return { type: 'Recreate' };
  return { type: 'RollingUpdate', rollingUpdate: { maxUnavailable: 0, maxSurge: 1 } };
}

/** Returns the pull secrets of the runtime image: those of the operator, then the written ones. */
function pullSecrets(spec: ServerSpec, { imagePullSecrets = [] }: ClusterFacts): { name: string }[] | undefined {
  const names = [...imagePullSecrets, ...(spec.imagePullSecrets ?? []).map(({ name }) => name)];
  return names.length === 0 ? undefined : [...new Set(names)].map((name) => ({ name }));
}

function renderTemplate(
  manifest: Manifest,
  spec: ServerSpec,
  rendered: Rendered,
  cluster: ClusterFacts,
  snapshot: Snapshot,
) {
  const child = childOf(manifest);
  const selector = runtimeSelector(manifest);
  // A running process cannot begin or end TLS, so the annotation replaces the pods.
  const tls = spec.tls ? { [`${snapshot.apiGroup}/tls`]: 'public-port' } : {};
  return {
    metadata: { labels: selector, annotations: { ...podAnnotations('vmcp', manifest, snapshot), ...tls } },
    spec: defined({
      serviceAccountName: spec.serviceAccount ?? child,
      automountServiceAccountToken: false,
      enableServiceLinks: false,
      securityContext: { ...RESTRICTED_POD, fsGroup: 65_532 },
      imagePullSecrets: pullSecrets(spec, cluster),
      terminationGracePeriodSeconds: GRACE,
      topologySpreadConstraints: topologySpread(selector),
      containers: [renderContainer(spec, rendered, cluster)],
      volumes: renderVolumes(child),
    }),
  };
}

/** Renders the pods of a runtime. @throws Stalled for a forbidden template or account */
export function renderRuntimeDeployment(
  manifest: Manifest,
  spec: ServerSpec,
  rendered: Rendered,
  cluster: ClusterFacts,
  snapshot: Snapshot,
): ClusterObject['object'] {
  checkServiceAccount(manifest, spec.serviceAccount, cluster, snapshot);
  const child = childOf(manifest);
  const selector = runtimeSelector(manifest);
  const template = renderTemplate(manifest, spec, rendered, cluster, snapshot);
  const { namespace, name } = manifest.metadata;
  const ownContainers = cluster.sidecarsOf?.includes(`${namespace}/${name}`) ?? false;
  const written = { manifest, template: spec.podTemplateSpec, ours: ['vmcp'], ownContainers };
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: ownedMetadata(child, selector, manifest, snapshot),
    spec: defined({
      replicas: replicasOf(spec, child, snapshot),
      strategy: renderStrategy(spec),
      selector: { matchLabels: selector },
      template: applyPodTemplate(template, written, cluster),
    }),
  };
}
