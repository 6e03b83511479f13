import type { Status } from '#crds/kinds/status';
import type { RunConfigDocument } from '#crds/run-config/run-config';
import type { ContainerEngine, GeneratedSecret, ResourceKey } from '../world.ts';

/** Where the content of a secret file comes from. The plan never sees a value. */
export type SecretSource =
  | { secret: string; key: string }
  /** `of`: made for the runtime of this MCPServer, and not for that of the resource itself. */
  | { generated: GeneratedSecret; of?: string };

/** What one runtime is given: its document, and the files that the document names. */
export interface Rendered {
  document: RunConfigDocument;
  /** The document as the runtime reads it. */
  text: string;
  /** Folder in which the runtime finds the files of `secretFiles`. */
  secretDirectory: string;
  /** Folder in which the runtime finds run-config.yaml and the files of `plainFiles`. */
  configDirectory: string;
  /** File name (carries a content hash) to where its content comes from. Written 0600. */
  secretFiles: Record<string, SecretSource>;
  /** File name (carries a content hash) to its text: CA bundles. */
  plainFiles: Record<string, string>;
}

/** A Kubernetes object that the resource owns. */
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
  /** Child name, `vmcp-<name>`, of an MCPServer by itself `mcp-<name>-proxy`. */
  name: string;
  host: string;
  port: number;
  privatePort: number;
  /** Whether the public port has TLS. A running process cannot begin or end TLS. */
  tls?: true;
  /** When a person asked for a restart; another one means a restart. */
  restartedAt?: string;
}

/** A backend on this machine that speaks HTTP or SSE on `port`. (stdio backends are children of the runtime.) */
export interface BackendProcess {
  platform: 'local';
  role: 'backend';
  /** Child name, `mcp-<name>`. */
  name: string;
  command: string;
  args: string[];
  env: Record<string, string>;
  /** Variable name to the Secret key with its value. */
  secretEnv: Record<string, { secret: string; key: string; digest: string }>;
  /** The command is the client of this engine: its containers have these labels. */
  container?: { engine: ContainerEngine; labels: string[] };
  port: number;
  url: string;
  /** Any change of it means a restart of this process, and only this. */
  restartToken: string;
}

export type Child = ClusterObject | RuntimeProcess | BackendProcess;

/** What is to be done for one resource. */
export interface Outcome {
  key: ResourceKey;
  /**
   * apply: make `rendered` and `children` so, and remove children that are not listed any more.
   * keep: change nothing that runs and start nothing new (the status says why).
   * remove: the resource is gone, and all that it owned goes.
   */
  action: 'apply' | 'keep' | 'remove';
  /** Only for resources that have a runtime, and only with `apply`. */
  rendered?: Rendered;
  children: Child[];
  /** Absent when the resource is gone. */
  status?: Status;
  /** Try again after so many milliseconds although nothing changed. */
  requeueAfter?: number;
}
