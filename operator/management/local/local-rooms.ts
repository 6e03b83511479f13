import type { StateFolder } from '#operator/local/state-folder';
import { renderOpenApi } from '../document/render-openapi.ts';
import { OPERATIONS } from '../operations/table.ts';
import type { Rooms } from '../rooms.ts';
import type { LocalSecrets } from '../secrets/local-secrets.ts';

/** One machine: what runs, or would run, from a folder. */
export interface LocalPlace {
  state: StateFolder;
  /** Absolute path of the folder with the manifests. */
  folder: string;
  /** The same that what runs here reads from. */
  secrets: LocalSecrets;
  /** Of this program. */
  version: string;
}

/** What operations work with on one machine, by namespace: the same beside `vmcp up` and where nothing runs. */
export function localRooms({ version, secrets }: LocalPlace): (namespace: string) => Rooms {
  const openApi = renderOpenApi(OPERATIONS, version);
  return (namespace) => ({ version, openApi, secrets: secrets.in(namespace) });
}
