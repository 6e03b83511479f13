import type { StateFolder } from '#local/state-folder';
import type { LocalSecrets } from '../secrets/local-secrets.ts';

/** One machine with a folder of manifests, running or not. */
export interface LocalPlace {
  state: StateFolder;
  /** Absolute path of the folder with the manifests. */
  folder: string;
  /** The same secrets that the running vmcp reads. */
  secrets: LocalSecrets;
  /** Environment of this process; it names proxies. */
  environment: NodeJS.ProcessEnv;
  /** Version of this program. */
  version: string;
  /** Receives internal failures; the text holds no secret. */
  onFailure: (text: string) => void;
}
