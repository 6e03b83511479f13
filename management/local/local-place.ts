import type { StateFolder } from '#local/state-folder';
import type { LocalSecrets } from '../secrets/local-secrets.ts';

/** One machine: what runs, or would run, from a folder. */
export interface LocalPlace {
  state: StateFolder;
  /** Absolute path of the folder with the manifests. */
  folder: string;
  /** The same that what runs here reads from. */
  secrets: LocalSecrets;
  /** Environment of this process, which names the proxies. */
  environment: NodeJS.ProcessEnv;
  /** Version of this program. */
  version: string;
  /** Told of what failed inside; holds no secret. */
  onFailure: (text: string) => void;
}
