import type { StateFolder } from '#local/state-folder';
import type { LocalSecrets } from '../secrets/local-secrets.ts';

export interface LocalPlace {
  state: StateFolder;
  folder: string;
  /** The same secrets that the running vmcp reads. */
  secrets: LocalSecrets;
  environment: NodeJS.ProcessEnv;
  version: string;
  /** Receives internal failures; the text holds no secret. */
  onFailure: (text: string) => void;
}
