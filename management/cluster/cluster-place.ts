import type { KubeApi } from '#operator/kubernetes/api/api';

export interface ClusterPlace {
  api: KubeApi;
  /** Separate connections for logs, so that long streams do not block other requests. */
  streams: KubeApi;
  apiGroup: string;
  environment: NodeJS.ProcessEnv;
  /** Whether records may allow private addresses, called from the network of this process. */
  privateAddresses: boolean;
  /** Folder with a file `<host>.json` for each sigstore instance. Without it only the public instance is trusted. */
  sigstoreRoots?: string | undefined;
  version: string;
  /** Called on internal failures. The text contains no secret. */
  onFailure: (text: string) => void;
}
