import type { KubeApi } from '#operator/kubernetes/api/api';

/** A cluster, with the rights of whoever connected. */
export interface ClusterPlace {
  api: KubeApi;
  /** Connection for logs: who reads them for hours holds up nobody else. */
  streams: KubeApi;
  /** Of the kinds that are served there. */
  apiGroup: string;
  /** Of this process: proxies are named there. */
  environment: NodeJS.ProcessEnv;
  /** Records may have private addresses called, from where this process is. */
  privateAddresses: boolean;
  /** Folder with the roots of sigstore instances, a file `<host>.json` each; without, the public one is trusted alone. */
  sigstoreRoots?: string | undefined;
  /** Of this program. */
  version: string;
  /** Told of what failed inside; holds no secret. */
  onFailure: (text: string) => void;
}
