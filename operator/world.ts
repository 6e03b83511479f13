import { z } from 'zod';
import type { PolicyVerdict } from '#crds/policy/policy-verdict';
import type { RuntimeStatus } from '#crds/run-config/runtime-status';

/** The kinds that are reconciled. */
export const KINDS = ['VirtualMCPServer', 'MCPGroup', 'MCPServer', 'MCPExternalAuthConfig', 'MCPOIDCConfig'] as const;
export type Kind = (typeof KINDS)[number];

/** One resource of a namespace: what is reconciled, or a Secret or ConfigMap that others name. */
export const ResourceKey = z.object({
  kind: z.enum([...KINDS, 'Secret', 'ConfigMap']),
  namespace: z.string(),
  name: z.string(),
});
export type ResourceKey = z.infer<typeof ResourceKey>;

/** A resource as it was written. `spec` is not checked yet: the plan does that, and says what is wrong in the status. */
export interface Manifest {
  apiVersion: string;
  kind: Kind;
  metadata: {
    name: string;
    namespace: string;
    uid?: string;
    generation?: number;
    /** RFC 3339. Of two resources that render the same child name, the older one keeps it. */
    creationTimestamp?: string;
    labels?: Record<string, string>;
    annotations?: Record<string, string>;
  };
  spec?: unknown;
  /** The status written last: only to keep `lastTransitionTime` where nothing changed. */
  status?: unknown;
}

/** As much of a resource as tells it from others of its namespace. */
export interface Named {
  kind: Kind;
  metadata: { name: string };
}

/**
 * Data key to a keyed hash of its value (hex, at least 16 digits, under a key that only the platform has): it names a file and
 * must not let anybody guess the value.
 */
export type SecretDigests = Record<string, string>;

/**
 * What a value cannot be used for: an empty one (or one of blanks) is no credential, `control characters` (a line break inside)
 * and characters beyond Latin-1 may stand in no header, a short one seals nothing; the others are not what their name says, in
 * PEM form and without passphrase.
 */
export type SecretFlaw =
  'empty' | 'control characters' | 'beyond Latin-1' | 'short' | 'no private key' | 'no signing key' | 'no certificate';

/**
 * Secrets that a platform makes for a runtime, once: what seals its records, the token for its /status, and on one
 * machine the keys of its authorization server, a private key in PEM (PKCS#8, P-256) and 32 random bytes in base64url.
 */
export const GENERATED_SECRETS = ['sealing', 'statusToken', 'signingKey', 'hmacSecret'] as const;
export type GeneratedSecret = (typeof GENERATED_SECRETS)[number];

/** What runs images on one machine; the first one that is there does. */
export const CONTAINER_ENGINES = ['podman', 'docker', 'nerdctl'] as const;
export type ContainerEngine = (typeof CONTAINER_ENGINES)[number];

/** What only a folder on one machine has. */
export interface LocalFacts {
  mode: 'local';
  /** Absolute path below which each child has its folder. */
  directory: string;
  /** Ports of each runtime (see `runtimeName`); a loopback `resourceUrl` with a port wins over `port`. */
  ports: Record<string, { port: number; privatePort: number }>;
  /** Port of each MCPServer that is started here and speaks HTTP, by name; `mcpPort` wins. */
  backendPorts: Record<string, number>;
  /**
   * Why resources cannot have the port that they ask for, as another one has it: per runtime (see `runtimeName`), and per MCPServer
   * for its program. Each message begins with the field.
   */
  portConflicts?: Record<'runtimes' | 'programs', Record<string, string>>;
  /** Per runtime (see `runtimeName`): how its process ended last, and why it cannot start, in its own words. */
  runtimeFailures?: Record<string, string>;
  /**
   * Per MCPServer: the port on which its program was started, or why it does not have it. A program that is absent is not started yet.
   * Where the record is absent, nothing is started.
   */
  programs?: Record<string, { port?: number; problem?: { reason: string; message: string } }>;
  /** MCPServer name to the files of its `envFileDir`, absolute paths; absent where that cannot be read. */
  envFiles?: Record<string, string[]>;
  /** Per runtime (see `runtimeName`): why it cannot append to its `audit.logFile`, with the remedy. */
  auditFlaws?: Record<string, string>;
  /** Identity of what each runtime serves (see `runtimeName`), made once and kept. */
  uids: Record<string, string>;
  /** Absolute path below which each runtime has the folder that outlives a restart, by `runtimeFolder`. */
  loginDirectory: string;
  /** The engine that runs images, if there is one. */
  containerEngine?: ContainerEngine;
  /** The engine ignores limits of memory and CPU. */
  limitsIgnored?: boolean;
  /** Address of this machine for containers, where their engine has no word for it. */
  hostAddress?: string;
}

/** What only a cluster has. */
export interface ClusterFacts {
  mode: 'cluster';
  /** Key set of the cluster's own API server, for `oidcConfig.type: kubernetes`. */
  keySet?: { keys: Record<string, unknown>[] };
  /** Issuer of the cluster's service account tokens, as the API server's discovery document says it. */
  issuer?: string;
  runtimeImage: string;
  /** `hostPath` volumes are allowed by the administrator. */
  allowHostPaths: boolean;
  /** Where the operator runs: its pods may reach private ports, and none of its service accounts may be borrowed. */
  operatorNamespace?: string;
  /** Namespaces whose pods may read /metrics. */
  scraperNamespaces?: string[];
  /** Secrets of the resource's own namespace with which the runtime image is pulled. */
  imagePullSecrets?: string[];
  /** Annotations that the writer of a resource may give its pods, Deployments and Services; absent: `POD_ANNOTATIONS` of the plan. */
  podAnnotations?: string[];
  /** VirtualMCPServers, as `namespace/name`, whose templates may bring containers and volumes into the pods. */
  sidecarsOf?: string[];
  /** Variables of the container of every runtime, such as HTTPS_PROXY. */
  runtimeEnv?: { name: string; value: string }[];
  /** Images on stdio without a command may be served by attaching to their pods. */
  stdioAttach?: boolean;
}

/** A runtime's answer at /status. `current`: what it serves is the document that stands in `World.documents`. */
export type ObservedRuntime = RuntimeStatus & {
  current: boolean;
  /** The restart (see the annotation `restarted-at`) since which this process runs, on one machine. */
  restartedAt?: string | undefined;
};

/** Why pods do not start: something has to be mended, or no node takes them as they are. The message has the remedy. */
export interface PodProblem {
  reason: 'PodsFail' | 'PodsUnschedulable';
  message: string;
}

/** How far a Deployment of ours is, as its controller says. */
export interface ObservedDeployment {
  /** Pods that there are, those of a former shape included. */
  replicas: number;
  readyReplicas: number;
  /** Every pod that is wanted has the latest shape and is available. */
  complete: boolean;
  /** What the controller says against it: why no pod can be made, or that it takes too long. */
  problem?: string;
  /** What is wrong with one of its pods. */
  podProblem?: PodProblem;
  /** `spec.replicas` as it stands. */
  wanted?: number;
  /** The restart that its pods are of, as their template says it. */
  restartedAt?: string;
  /** Another manager has `spec.replicas`: an autoscaler that has begun to work. */
  scaledByOther?: boolean;
}

/** A policy set as it is written. */
export interface PolicyTexts {
  policies: readonly string[];
  entitiesJson: string;
}

/** What is known of policy sets, where a platform remembers it. */
export interface PolicyReadings {
  /** The verdict on a set. A set that has not been read is noted, and counts as valid and free of callers. */
  verdictOf(texts: PolicyTexts): PolicyVerdict;
  /** Reads what was noted; false where nothing was. What was planned meanwhile does not hold otherwise. */
  readNoted(): Promise<boolean>;
}

/** Everything of one namespace that the plan may read. Secret values are not in it. */
export interface World {
  namespace: string;
  /** API group of the kinds, e.g. `vmcp.dev`: owner references carry it. */
  apiGroup: string;
  platform: LocalFacts | ClusterFacts;

  virtualMcpServers: Record<string, Manifest>;
  mcpGroups: Record<string, Manifest>;
  mcpServers: Record<string, Manifest>;
  mcpExternalAuthConfigs: Record<string, Manifest>;
  mcpOidcConfigs: Record<string, Manifest>;
  /** Secret name to its keys. */
  secrets: Record<string, SecretDigests>;
  /** What is wrong with values of Secrets: `<name>/<key>` to it. Absent in a cluster: there the runtime says it. */
  flaws?: Readonly<Record<string, readonly SecretFlaw[]>>;
  /** Certificates and private keys: `<name>/<key>` to the hash of the public key. Absent in a cluster. */
  keyPairs?: Readonly<Record<string, string>>;
  /** Certificates and private keys that TLS refuses: `<name>/<key>` to why, with the remedy. Absent in a cluster. */
  tlsFlaws?: Readonly<Record<string, string>>;
  /** ConfigMap name to key to text. */
  configMaps: Record<string, Record<string, string>>;
  /** Of those that are there and yet not in `secrets` or `configMaps`: name to why, with what to do. */
  refused?: Record<'secrets' | 'configMaps', Readonly<Record<string, string>>>;

  /** Per runtime (see `runtimeName`): digests of the secrets that the platform makes for it, once. */
  generated: Record<string, Partial<Record<GeneratedSecret, string>>>;
  /** Per runtime: the text of the document that it serves or is to serve; absent before the first. */
  documents: Record<string, string>;
  /** Per runtime: what it answered at /status; absent while it does not answer. */
  observed: Record<string, ObservedRuntime>;
  /** Child name to its Deployment in a cluster; absent where there are none. */
  deployments?: Record<string, ObservedDeployment>;
  /** Absent: policies are validated as they are planned. */
  policies?: PolicyReadings;
}

/** Text form of a key, unique among all resources. */
export function keyText(key: ResourceKey): string {
  return `${key.kind}/${key.namespace}/${key.name}`;
}

/** The key that `keyText` wrote. */
export function parseKey(text: string): ResourceKey {
  const [kind, namespace, name] = text.split('/');
  return { kind: kind as ResourceKey['kind'], namespace: namespace ?? '', name: name ?? '' };
}

/**
 * Under which name `generated`, `documents` and `observed` have the runtime of a resource: a VirtualMCPServer's own name;
 * an MCPServer, which may have a runtime of its own, cannot take the name of one.
 */
export function runtimeName({ kind, name }: Pick<ResourceKey, 'kind' | 'name'>): string {
  return kind === 'VirtualMCPServer' ? name : `${kind}/${name}`;
}

/** The name of the folder that is of that runtime alone: no resource's name has a dot. */
export function runtimeFolder({ kind, name }: Pick<ResourceKey, 'kind' | 'name'>): string {
  return kind === 'VirtualMCPServer' ? name : `${kind}.${name}`;
}

/** The manifest that a key names; undefined for one that is gone, and for Secrets and ConfigMaps. */
export function manifestOf(key: ResourceKey, world: World): Manifest | undefined {
  switch (key.kind) {
    case 'VirtualMCPServer':
      return world.virtualMcpServers[key.name];
    case 'MCPGroup':
      return world.mcpGroups[key.name];
    case 'MCPServer':
      return world.mcpServers[key.name];
    case 'MCPExternalAuthConfig':
      return world.mcpExternalAuthConfigs[key.name];
    case 'MCPOIDCConfig':
      return world.mcpOidcConfigs[key.name];
    default:
      return undefined;
  }
}
