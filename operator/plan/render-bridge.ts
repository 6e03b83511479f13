import { RUN_CONFIG_VERSION, type RunConfigDocument } from '#crds/run-config/run-config';
import { valueAt } from '#crds/parts/rule';
import type { ClusterFacts, Manifest, Snapshot } from '../snapshot.ts';
import { contentHash } from '../content-hash.ts';
import { writeText } from '../yaml-text.ts';
import { backendChild, bridgeOf } from './child-names.ts';
import { checkDocument } from './check-document.ts';
import { defined } from './defined.ts';
import { backendSelector, ownedMetadata, probe, RESTRICTED } from './object-parts.ts';
import type { ClusterObject } from './outcome.ts';
import { leaveService } from './leave-service.ts';
import { configMapName } from './render-config-map.ts';
import { CONTAINER_PORT } from './reach-backend.ts';
import { serviceHosts } from './render-run-config.ts';

// A bridge in the pod, a runtime with one backend, serves a stdio program: two named pipes in a shared folder are its input and output.

const PIPES = '/run/mcp';
const INPUT = `${PIPES}/in`;
const OUTPUT = `${PIPES}/out`;
const CONFIG = '/etc/vmcp/config';

/** Connects the program directly to the pipes. Opening them waits for the bridge, and each side sees the other end close. */
const RUN_PROGRAM = `exec "$@" <${INPUT} >${OUTPUT}`;

/** Opens both pipes at once, as each waits for the program; if one closes, the other ends. dd forwards data at once, cat may buffer. */
const COPY = 'dd bs=65536 2>/dev/null';
const JOIN_PIPES = `exec 3<&0; ${COPY} <&3 >${INPUT} & writer=$!; exec 3<&-; ${COPY} <${OUTPUT}; kill $writer 2>/dev/null`;

const BRIDGE_RESOURCES = { requests: { cpu: '20m', memory: '96Mi' }, limits: { cpu: '1', memory: '384Mi' } };

/** All runtimes of the namespace are one caller of the bridge. The runtimes check the length of names. */
const LIMITS = { sessions_per_principal: 10_000, max_name_length: 128 };

interface Joined {
  command: string;
  args: string[];
  env?: Record<string, string>;
}

/** The bridge is ready when the program is, so no client sees a server without tools. */
const OPERATIONAL = { failure_handling: { partial_failure_mode: 'fail' as const, health_check_interval: '5s' } };

function renderDocument(manifest: Manifest, joined: Joined, snapshot: Snapshot): RunConfigDocument {
  const { name, uid = '' } = manifest.metadata;
  return {
    schema_version: RUN_CONFIG_VERSION,
    server: { namespace: snapshot.namespace, name, uid },
    listen: { host: '::', port: CONTAINER_PORT, private_host: '::', private_port: 4484 },
    allowed_hosts: serviceHosts(backendChild(name), snapshot),
    incoming: { type: 'anonymous' },
    aggregation: { conflict_resolution: 'priority', priority_order: [name] },
    backends: [{ name, auth: { type: 'unauthenticated' }, transport: 'stdio', ...joined }],
    operational: OPERATIONAL,
    limits: LIMITS,
    session_storage: { type: 'memory' },
  };
}

export interface Bridge {
  configMap: ClusterObject['object'];
  /** A change of this token replaces the bridge. */
  token: string;
  initContainers: object[];
  container: object;
  volumes: object[];
  account?: string;
}

/** The name has the schema version, as for a server: a pod that has yet to roll still mounts the former ConfigMap. */
const configMapOfBridge = ({ metadata }: Manifest) => configMapName(bridgeOf(backendChild(metadata.name)));

function configMapOf(manifest: Manifest, text: string, snapshot: Snapshot): ClusterObject['object'] {
  return {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: ownedMetadata(configMapOfBridge(manifest), backendSelector(manifest), manifest, snapshot),
    data: { 'run-config.yaml': text },
  };
}

const MOUNT_PIPES = { name: 'pipes', mountPath: PIPES };

function renderContainer(image: string, mounts: object[], lifecycle: object | undefined) {
  return defined({
    name: 'bridge',
    image,
    args: ['--config', `${CONFIG}/run-config.yaml`],
    ports: [
      { name: 'mcp', containerPort: CONTAINER_PORT, protocol: 'TCP' },
      { name: 'private', containerPort: 4484, protocol: 'TCP' },
    ],
    startupProbe: probe('/healthz', 1, 60),
    livenessProbe: probe('/healthz', 10, 3),
    readinessProbe: probe('/readyz', 5, 2),
    lifecycle,
    resources: BRIDGE_RESOURCES,
    securityContext: RESTRICTED,
    volumeMounts: [
      { name: 'bridge-config', mountPath: CONFIG, readOnly: true },
      { name: 'bridge-tmp', mountPath: '/tmp' },
      ...mounts,
    ],
  });
}

/** Creates the pipes before either side opens them. The program may run as any user. */
function pipesContainer(image: string) {
  return {
    name: 'pipes',
    image,
    command: ['/bin/sh', '-c', `umask 0; rm -f ${INPUT} ${OUTPUT}; mkfifo -m 666 ${INPUT} ${OUTPUT}`],
    resources: BRIDGE_RESOURCES,
    securityContext: RESTRICTED,
    volumeMounts: [MOUNT_PIPES],
  };
}

function renderBridge(
  manifest: Manifest,
  joined: Joined,
  { mount, volume }: { mount: object; volume: object },
  cluster: ClusterFacts,
  snapshot: Snapshot,
): Omit<Bridge, 'initContainers'> {
  const document = renderDocument(manifest, joined, snapshot);
  checkDocument(document);
  const text = writeText(document);
  return {
    configMap: configMapOf(manifest, text, snapshot),
    token: contentHash(text),
    container: renderContainer(
      cluster.runtimeImage,
      [mount],
      leaveService(valueAt(manifest.spec, ['podTemplateSpec'])),
    ),
    volumes: [
      volume,
      { name: 'bridge-config', configMap: { name: configMapOfBridge(manifest) } },
      { name: 'bridge-tmp', emptyDir: { sizeLimit: '16Mi' } },
    ],
  };
}

export function renderPipeBridge(manifest: Manifest, cluster: ClusterFacts, snapshot: Snapshot): Bridge {
  const joined = { command: '/bin/sh', args: ['-c', JOIN_PIPES] };
  const place = { mount: MOUNT_PIPES, volume: { name: 'pipes', emptyDir: { sizeLimit: '1Mi' } } };
  const bridge = renderBridge(manifest, joined, place, cluster, snapshot);
  return { ...bridge, initContainers: [pipesContainer(cluster.runtimeImage)] };
}

const ACCOUNT = '/var/run/secrets/kubernetes.io/serviceaccount';

/** The token of the one container that may attach, and the authorities of the API server. */
const ACCOUNT_VOLUME = {
  name: 'bridge-token',
  projected: {
    defaultMode: 0o444,
    sources: [
      { serviceAccountToken: { path: 'token', expirationSeconds: 3600 } },
      { configMap: { name: 'kube-root-ca.crt', items: [{ key: 'ca.crt', path: 'ca.crt' }] } },
    ],
  },
};

/** Returns the pod name of a StatefulSet with one replica. It is known before the pod exists. */
export function podOf(child: string): string {
  return `${child}-0`;
}

/** Renders the bridge of a program whose command only the image knows. The bridge attaches through the API server. */
export function renderAttachBridge(manifest: Manifest, cluster: ClusterFacts, snapshot: Snapshot): Bridge {
  const pod = podOf(backendChild(manifest.metadata.name));
  const target = ['--namespace', snapshot.namespace, '--pod', pod, '--container', 'mcp'];
  const joined = {
    command: 'node',
    args: ['/app/attach.js', ...target, '--token-file', `${ACCOUNT}/token`],
    env: { NODE_EXTRA_CA_CERTS: `${ACCOUNT}/ca.crt` },
  };
  const place = { mount: { name: 'bridge-token', mountPath: ACCOUNT, readOnly: true }, volume: ACCOUNT_VOLUME };
  const account = backendChild(manifest.metadata.name);
  return { ...renderBridge(manifest, joined, place, cluster, snapshot), initContainers: [], account };
}

/** Returns the command that runs a program with the pipes as input and output. Its image must have /bin/sh. */
export function pipedCommand(command: string[], args: string[] = []): { command: string[]; args: string[] } {
  return { command: ['/bin/sh', '-c', RUN_PROGRAM, 'mcp'], args: [...command, ...args] };
}

export const PIPES_MOUNT = MOUNT_PIPES;
