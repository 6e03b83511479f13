import { z } from 'zod';
import type { PolicyVerdict } from '#crds/policy/policy-verdict';
import type { RuntimeStatus } from '#crds/run-config/runtime-status';

/** The reconciled kinds. */
export const KINDS = ['VirtualMCPServer', 'MCPGroup', 'MCPServer', 'MCPExternalAuthConfig', 'MCPOIDCConfig'] as const;
export type Kind = (typeof KINDS)[number];

/** The key of one resource in a namespace: of a reconciled kind, or of a Secret or ConfigMap that others name. */
export const ResourceKey = z.object({
  kind: z.enum([...KINDS, 'Secret', 'ConfigMap']),
  namespace: z.string(),
  name: z.string(),
});
export type ResourceKey = z.infer<typeof ResourceKey>;

/** A resource as written. The planner validates `spec`, and reports errors in the status. */
export interface Manifest {
  apiVersion: string;
  kind: Kind;
  metadata: {
    name: string;
    namespace: string;
    uid?: string;
    generation?: number;
    /** RFC 3339. If two resources render the same child name, the older one keeps it. */
    creationTimestamp?: string;
    labels?: Record<string, string>;
    annotations?: Record<string, string>;
  };
  spec?: unknown;
  /** The last written status, used to keep `lastTransitionTime` of unchanged conditions. */
  status?: unknown;
}

/** The identity of a resource in its namespace. */
export interface Named {
  kind: Kind;
  metadata: { name: string };
}

/**
 * Maps a data key to a keyed hash of its value (hex, at least 16 digits). Only the platform has the HMAC key, so a file name with the hash
 * does not reveal the value.
 */
export type SecretDigests = Record<string, string>;

/**
 * Restrictions of a value. A value that is no text has no use. An empty or blank value is no credential. Control characters (including
 * inner line breaks) and characters beyond Latin-1 are invalid in a header. A short value seals nothing. The other flaws name a value that
 * is not of the stated type in PEM form without a passphrase.
 */
export type SecretFlaw =
  | 'not text'
  | 'empty'
  | 'control characters'
  | 'beyond Latin-1'
  | 'short'
  | 'no private key'
  | 'no signing key'
  | 'no certificate';

/**
 * Secrets that a platform generates once per runtime: the key that seals its records, and its /status token. A local platform adds the keys
 * of its authorization server: a private key in PEM (PKCS#8, P-256), and 32 random bytes in base64url.
 */
export const GENERATED_SECRETS = ['sealing', 'statusToken', 'signingKey', 'hmacSecret'] as const;
export type GeneratedSecret = (typeof GENERATED_SECRETS)[number];

/** Programs that run images on one machine; the first installed one is used. */
export const CONTAINER_ENGINES = ['podman', 'docker', 'nerdctl'] as const;
export type ContainerEngine = (typeof CONTAINER_ENGINES)[number];

/** Facts that only the local platform has. */
export interface LocalFacts {
  mode: 'local';
  /** Absolute path that contains the folder of each child. */
  directory: string;
  /** Ports of each runtime (see `runtimeName`). A loopback `resourceUrl` with a port takes precedence over `port`. */
  ports: Record<string, { port: number; privatePort: number }>;
  /** Port of each locally started MCPServer that speaks HTTP, by name. `mcpPort` takes precedence. */
  backendPorts: Record<string, number>;
  /**
   * Why resources cannot have the requested port: per runtime (see `runtimeName`), and per MCPServer for its program. Each message begins
   * with the field.
   */
  portConflicts?: Record<'runtimes' | 'programs', Record<string, string>>;
  /** Per runtime (see `runtimeName`): how its last process ended, and why it cannot start, in its own words. */
  runtimeFailures?: Record<string, string>;
  /**
   * Per MCPServer: the port of its program, or why it does not run. An absent program is not started yet. An absent record means that
   * nothing is started.
   */
  programs?: Record<string, { port?: number; problem?: { reason: string; message: string } }>;
  /** Maps an MCPServer name to the files of its `envFileDir`, absolute paths; absent if the folder cannot be read. */
  envFiles?: Record<string, string[]>;
  /** Per runtime (see `runtimeName`): why it cannot append to its `audit.logFile`, with the remedy. */
  auditFlaws?: Record<string, string>;
  /** Identity of each runtime's data (see `runtimeName`), generated once and stored. */
  uids: Record<string, string>;
  /** Absolute path that contains each runtime's persistent folder, by `runtimeFolder`. */
  loginDirectory: string;
  /** The engine that runs images, if one is installed. */
  containerEngine?: ContainerEngine;
  /** Whether the engine ignores limits of memory and CPU. */
  limitsIgnored?: boolean;
  /** Address of this machine for containers, if their engine has no host name for it. */
  hostAddress?: string;
}

/** Facts that only a cluster has. */
export interface ClusterFacts {
  mode: 'cluster';
  /** Key set of the cluster's own API server, for `oidcConfig.type: kubernetes`. */
  keySet?: { keys: Record<string, unknown>[] };
  /** Issuer of the cluster's service account tokens, from the API server's discovery document. */
  issuer?: string;
  runtimeImage: string;
  /** Whether the administrator allows `hostPath` volumes. */
  allowHostPaths: boolean;
  /** Namespace of the operator: its pods may reach private ports, and resources may use none of its service accounts. */
  operatorNamespace?: string;
  /** Namespaces whose pods may read /metrics. */
  scraperNamespaces?: string[];
  /** Secrets in the resource's own namespace with which the runtime image is pulled. */
  imagePullSecrets?: string[];
  /** Annotations that a resource may set on its pods, Deployments and Services. Default: `POD_ANNOTATIONS` of the planner. */
  podAnnotations?: string[];
  /** VirtualMCPServers, as `namespace/name`, whose templates may add containers and volumes to the pods. */
  sidecarsOf?: string[];
  /** Environment variables of every runtime container, such as HTTPS_PROXY. */
  runtimeEnv?: { name: string; value: string }[];
  /** Whether stdio images without a command may be served by attaching to their pods. */
  stdioAttach?: boolean;
}

/** A runtime's answer at /status. `current`: it serves the document in `Snapshot.documents`. */
export type ObservedRuntime = RuntimeStatus & {
  current: boolean;
  /** The restart request (annotation `restarted-at`) that this local process follows. */
  restartedAt?: string | undefined;
};

/** Why pods do not start: a fault to fix, or no node that accepts them. The message has the remedy. */
export interface PodProblem {
  reason: 'PodsFail' | 'PodsUnschedulable';
  message: string;
}

/** The progress of a Deployment, from its controller's status. */
export interface ObservedDeployment {
  /** Existing pods, including those of earlier revisions. */
  replicas: number;
  readyReplicas: number;
  /** Whether every wanted pod has the latest revision and is available. */
  complete: boolean;
  /** The controller's problem: why no pod can be created, or that the rollout takes too long. */
  problem?: string;
  /** The problem of one of its pods. */
  podProblem?: PodProblem;
  /** The current `spec.replicas`. */
  wanted?: number;
  /** The restart request in the template of its pods. */
  restartedAt?: string;
  /** Whether another manager owns `spec.replicas`, such as an active autoscaler. */
  scaledByOther?: boolean;
}

/** The texts of a policy set. */
export interface PolicyTexts {
  policies: readonly string[];
  entitiesJson: string;
}

/** Cached verdicts on policy sets. */
export interface PolicyReadings {
  /** Returns the verdict on a set. Records an unread set, and treats it as valid and without callers. */
  verdictOf(texts: PolicyTexts): PolicyVerdict;
  /** Reads the recorded sets. If it returns true, discard the outcome and plan again. */
  readNoted(): Promise<boolean>;
}

/** A snapshot of one namespace: everything that the planner may read. Contains no secret values. */
export interface Snapshot {
  namespace: string;
  /** API group of the kinds, e.g. `vmcp.dev`, for owner references. */
  apiGroup: string;
  platform: LocalFacts | ClusterFacts;

  virtualMcpServers: Record<string, Manifest>;
  mcpGroups: Record<string, Manifest>;
  mcpServers: Record<string, Manifest>;
  mcpExternalAuthConfigs: Record<string, Manifest>;
  mcpOidcConfigs: Record<string, Manifest>;
  /** Maps a Secret name to its keys. */
  secrets: Record<string, SecretDigests>;
  /** Maps `<name>/<key>` to the flaws of a Secret's value. Absent in a cluster, where the runtime reports them. */
  flaws?: Readonly<Record<string, readonly SecretFlaw[]>>;
  /** Maps `<name>/<key>` of a certificate or private key to the hash of its public key. Absent in a cluster. */
  keyPairs?: Readonly<Record<string, string>>;
  /** Maps `<name>/<key>` of a certificate or private key that TLS refuses to the reason and the remedy. Absent in a cluster. */
  tlsFlaws?: Readonly<Record<string, string>>;
  /** Maps a ConfigMap name to its texts by key. */
  configMaps: Record<string, Record<string, string>>;
  /** Existing objects that are missing in `secrets` or `configMaps`: maps the name to the reason and the remedy. */
  refused?: Record<'secrets' | 'configMaps', Readonly<Record<string, string>>>;

  /** Per runtime (see `runtimeName`): digests of the secrets that the platform generates once. */
  generated: Record<string, Partial<Record<GeneratedSecret, string>>>;
  /** Per runtime: the text of its current document; absent before the first one. */
  documents: Record<string, string>;
  /** Per runtime: its answer at /status; absent while it does not answer. */
  observed: Record<string, ObservedRuntime>;
  /** Maps a child name to its Deployment in a cluster; absent elsewhere. */
  deployments?: Record<string, ObservedDeployment>;
  /** If absent, the planner validates policies directly. */
  policies?: PolicyReadings;
}

/** Returns the text form of a key, unique among all resources. */
export function keyText(key: ResourceKey): string {
  return `${key.kind}/${key.namespace}/${key.name}`;
}

/** Parses a text of `keyText`. */
export function parseKey(text: string): ResourceKey {
  const [kind, namespace, name] = text.split('/');
  return { kind: kind as ResourceKey['kind'], namespace: namespace ?? '', name: name ?? '' };
}

/**
 * Returns the name of a resource's runtime in `generated`, `documents` and `observed`. A VirtualMCPServer has its own name. The own
 * runtime of an MCPServer has a name that no VirtualMCPServer can have.
 */
export function runtimeName({ kind, name }: Pick<ResourceKey, 'kind' | 'name'>): string {
  return kind === 'VirtualMCPServer' ? name : `${kind}/${name}`;
}

/** Returns the folder name of a runtime. It is unique, as no resource name contains a dot. */
export function runtimeFolder({ kind, name }: Pick<ResourceKey, 'kind' | 'name'>): string {
  return kind === 'VirtualMCPServer' ? name : `${kind}.${name}`;
}

/** Returns the manifest of a key; undefined if it is deleted, and for Secrets and ConfigMaps. */
export function manifestOf(key: ResourceKey, snapshot: Snapshot): Manifest | undefined {
  switch (key.kind) {
    case 'VirtualMCPServer':
      return snapshot.virtualMcpServers[key.name];
    case 'MCPGroup':
      return snapshot.mcpGroups[key.name];
    case 'MCPServer':
      return snapshot.mcpServers[key.name];
    case 'MCPExternalAuthConfig':
      return snapshot.mcpExternalAuthConfigs[key.name];
    case 'MCPOIDCConfig':
      return snapshot.mcpOidcConfigs[key.name];
    default:
      return undefined;
  }
}
