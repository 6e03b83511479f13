import type { Status } from '#crds/kinds/status';
import type { RunConfigDocument } from '#crds/run-config/run-config';
import type { ContainerEngine, GeneratedSecret, ResourceKey } from '../snapshot.ts';

/** The source of a secret file's content. The plan never sees a value. */
export type SecretSource =
  | { secret: string; key: string }
  /** `of`: generated for the runtime of this MCPServer instead of the resource itself. */
  | { generated: GeneratedSecret; of?: string };

export interface Rendered {
  document: RunConfigDocument;
  text: string;
  /** Folder of `secretFiles`, as the runtime sees it. */
  secretDirectory: string;
  /** Folder of run-config.yaml and of `plainFiles`, as the runtime sees it. */
  configDirectory: string;
  /** File name (with a content hash) to the source of its content. Mode 0600. */
  secretFiles: Record<string, SecretSource>;
  /** File name (with a content hash) to its text: CA bundles. */
  plainFiles: Record<string, string>;
}

export interface ClusterObject {
  platform: 'cluster';
  object: {
    apiVersion: string;
    kind: string;
    metadata: { name: string; namespace: string; [field: string]: unknown };
    [field: string]: unknown;
  };
}

/** A runtime on this machine, started with `<configDirectory>/run-config.yaml`. */
export interface RuntimeProcess {
  platform: 'local';
  role: 'runtime';
  /** Child name: `vmcp-<name>`; for an MCPServer's own runtime `mcp-<name>-proxy`. */
  name: string;
  host: string;
  port: number;
  privatePort: number;
  /** Set if the public port has TLS. A change needs a restart. */
  tls?: true;
  /** Time of the requested restart. A change means a restart. */
  restartedAt?: string;
}

/** A backend on this machine that serves HTTP or SSE on `port`. The runtime starts stdio backends as its children. */
export interface BackendProcess {
  platform: 'local';
  role: 'backend';
  /** Child name, `mcp-<name>`. */
  name: string;
  command: string;
  args: string[];
  env: Record<string, string>;
  secretEnv: Record<string, { secret: string; key: string; digest: string }>;
  /** Set if the command is the client of this engine: its containers have these labels. */
  container?: { engine: ContainerEngine; labels: string[] };
  port: number;
  url: string;
  /** A change of this token restarts this process only. */
  restartToken: string;
}

export type Child = ClusterObject | RuntimeProcess | BackendProcess;

export interface Outcome {
  key: ResourceKey;
  /** apply: also removes unlisted children. keep: changes nothing (the status says why). remove: removes all of a deleted resource. */
  action: 'apply' | 'keep' | 'remove';
  /** Set only with `apply`, for resources with a runtime. */
  rendered?: Rendered;
  children: Child[];
  status?: Status;
  /** Milliseconds after which to plan again without an event. */
  requeueAfter?: number;
}
