import { RUN_CONFIG_VERSION, type RunConfigDocument } from '#crds/run-config/run-config';
import { valueAt } from '#crds/parts/rule';
import type { ClusterFacts, Manifest, World } from '../world.ts';
import { contentHash } from '../content-hash.ts';
import { writeText } from '../yaml-text.ts';
import { backendChild, bridgeOf } from './child-names.ts';
import { checkDocument } from './check-document.ts';
import { defined } from './defined.ts';
import { backendSelector, ownedMetadata } from './object-parts.ts';
import type { ClusterObject } from './outcome.ts';
import { leaveService } from './leave-service.ts';
import { configMapName } from './render-config-map.ts';
import { RESTRICTED } from './pod-security.ts';
import { CONTAINER_PORT } from './reach-backend.ts';
import { serviceHosts } from './render-run-config.ts';

// A program on standard input and output has a bridge beside it in its pod: a runtime with this one backend. Two pipes with
// names, in a folder that both containers see, are the program's input and output.

const PIPES = '/run/mcp';
const INPUT = `${PIPES}/in`;
const OUTPUT = `${PIPES}/out`;
const CONFIG = '/etc/vmcp/config';

/** The program gets the pipes as they are: opening them waits for the bridge, and the end of either side is seen by the other. */
const RUN_PROGRAM = `exec "$@" <${INPUT} >${OUTPUT}`;

/**
 * What joins the pipes to the bridge. Both pipes are opened at once, as each waits for the program; what is
 * closed first ends the other. dd passes on what there is; a cat may wait until it has much.
 */
const COPY = 'dd bs=65536 2>/dev/null';
const JOIN_PIPES = `exec 3<&0; ${COPY} <&3 >${INPUT} & writer=$!; exec 3<&-; ${COPY} <${OUTPUT}; kill $writer 2>/dev/null`;

const BRIDGE_RESOURCES = { requests: { cpu: '20m', memory: '96Mi' }, limits: { cpu: '1', memory: '384Mi' } };

/** All runtimes of the namespace together are one caller of the bridge, and names are theirs to judge. */
const LIMITS = { sessions_per_principal: 10_000, max_name_length: 128 };

/** What the bridge starts in place of the program. */
interface Joined {
  command: string;
  args: string[];
  env?: Record<string, string>;
}

/** It is there when the program is: nobody is told that there is a server without tools. */
const OPERATIONAL = { failure_handling: { partial_failure_mode: 'fail' as const, health_check_interval: '5s' } };

/** What the bridge serves: one backend whose names stay as they are. `command` and `args` reach the program. */
function renderDocument(manifest: Manifest, joined: Joined, world: World): RunConfigDocument {
  const { name, uid = '' } = manifest.metadata;
  return {
    schema_version: RUN_CONFIG_VERSION,
    server: { namespace: world.namespace, name, uid },
    listen: { host: '::', port: CONTAINER_PORT, private_host: '::', private_port: 4484 },
    allowed_hosts: serviceHosts(backendChild(name), world),
    incoming: { type: 'anonymous' },
    aggregation: { conflict_resolution: 'priority', priority_order: [name] },
    backends: [{ name, auth: { type: 'unauthenticated' }, transport: 'stdio', ...joined }],
    operational: OPERATIONAL,
    limits: LIMITS,
    session_storage: { type: 'memory' },
  };
}

/** The bridge of one program: its ConfigMap, and what a pod needs for it. */
export interface Bridge {
  configMap: ClusterObject['object'];
  /** Any change of it means another bridge. */
  token: string;
  initContainers: object[];
  container: object;
  volumes: object[];
  /** Service account of the pod, where the bridge needs one. */
  account?: string;
}

/** Named with the schema version as that of a server: a pod that waits for its turn still mounts the former one. */
const configMapOfBridge = ({ metadata }: Manifest) => configMapName(bridgeOf(backendChild(metadata.name)));

function configMapOf(manifest: Manifest, text: string, world: World): ClusterObject['object'] {
  return {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: ownedMetadata(configMapOfBridge(manifest), backendSelector(manifest), manifest, world),
    data: { 'run-config.yaml': text },
  };
}

const probe = (path: string, periodSeconds: number, failureThreshold: number) => ({
  httpGet: { path, port: 'private' },
  periodSeconds,
  failureThreshold,
  timeoutSeconds: 2,
});

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

/** Makes the pipes before anybody opens them; the program may be of any user. */
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
  world: World,
): Omit<Bridge, 'initContainers'> {
  const document = renderDocument(manifest, joined, world);
  checkDocument(document);
  const text = writeText(document);
  return {
    configMap: configMapOf(manifest, text, world),
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

/** The bridge of a program whose command is known: both are joined by pipes; no API server has part in it. */
export function renderPipeBridge(manifest: Manifest, cluster: ClusterFacts, world: World): Bridge {
  const joined = { command: '/bin/sh', args: ['-c', JOIN_PIPES] };
  const place = { mount: MOUNT_PIPES, volume: { name: 'pipes', emptyDir: { sizeLimit: '1Mi' } } };
  const bridge = renderBridge(manifest, joined, place, cluster, world);
  return { ...bridge, initContainers: [pipesContainer(cluster.runtimeImage)] };
}

const ACCOUNT = '/var/run/secrets/kubernetes.io/serviceaccount';

/** The token of the one container that may attach, and the certificate authorities of the API server. */
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

/** Pod of a StatefulSet of one: its name is known before it is there. */
export function podOf(child: string): string {
  return `${child}-0`;
}

/** The bridge of a program that the image alone knows: it attaches to it through the API server. */
export function renderAttachBridge(manifest: Manifest, cluster: ClusterFacts, world: World): Bridge {
  const pod = podOf(backendChild(manifest.metadata.name));
  const target = ['--namespace', world.namespace, '--pod', pod, '--container', 'mcp'];
  const joined = {
    command: 'node',
    args: ['/app/attach.js', ...target, '--token-file', `${ACCOUNT}/token`],
    env: { NODE_EXTRA_CA_CERTS: `${ACCOUNT}/ca.crt` },
  };
  const place = { mount: { name: 'bridge-token', mountPath: ACCOUNT, readOnly: true }, volume: ACCOUNT_VOLUME };
  const account = backendChild(manifest.metadata.name);
  return { ...renderBridge(manifest, joined, place, cluster, world), initContainers: [], account };
}

/** The command of a program, so that its input and output are the pipes. Its image must have /bin/sh. */
export function pipedCommand(command: string[], args: string[] = []): { command: string[]; args: string[] } {
  return { command: ['/bin/sh', '-c', RUN_PROGRAM, 'mcp'], args: [...command, ...args] };
}

/** Where the program's container sees the pipes. */
export const PIPES_MOUNT = MOUNT_PIPES;
