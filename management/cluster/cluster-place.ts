import type { KubeApi } from '#operator/kubernetes/api/api';

/** Cluster connection with the permissions of its user. */
export interface ClusterPlace {
  api: KubeApi;
  /** Separate connections for logs, so that long streams do not block other requests. */
  streams: KubeApi;
  /** API group of the served kinds. */
  apiGroup: string;
  /** Environment of this process, which names the proxies. */
  environment: NodeJS.ProcessEnv;
  /** Whether records may allow private addresses, called from the network of this process. */
  privateAddresses: boolean;
  /**
   * Folder with the roots of sigstore instances, a file `<host>.json` for each. Without it only the public instance is
   * trusted.
   */
  sigstoreRoots?: string | undefined;
  /** Version of this program. */
  version: string;
  /** Called on internal failures. The text contains no secret. */
  onFailure: (text: string) => void;
}
