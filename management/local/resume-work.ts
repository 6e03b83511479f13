import { ManifestFolder } from '#local/manifest-folder';
import { problemOf } from '../problem.ts';
import type { Rooms } from '../rooms.ts';

interface LeftWork {
  /** Absolute path of the folder with the manifests. */
  folder: string;
  roomsOf: (namespace: string) => Pick<Rooms, 'operations'>;
  /** Told of what cannot be taken up; holds no secret. */
  onFailure: (text: string) => void;
}

/**
 * Takes up what a process that was killed left undone, in each namespace that the folder has something of. In others nothing is left but
 * to note the end: that is done when somebody asks.
 */
export async function resumeWork({ folder, roomsOf, onFailure }: LeftWork): Promise<void> {
  try {
    const { manifests } = new ManifestFolder(folder).read();
    for (const namespace of new Set(manifests.map(({ metadata }) => metadata.namespace)))
      await roomsOf(namespace).operations.resume();
  } catch (problem) {
    onFailure(`work that was left undone is not taken up: ${problemOf(problem).message}`);
  }
}
