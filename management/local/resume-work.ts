import { ManifestFolder } from '#local/manifest-folder';
import { problemOf } from '../problem.ts';
import type { Services } from '../services.ts';

interface LeftWork {
  /** Absolute path of the folder with the manifests. */
  folder: string;
  servicesOf: (namespace: string) => Pick<Services, 'operations'>;
  /** Receives failures to resume; the text holds no secret. */
  onFailure: (text: string) => void;
}

/**
 * Resumes the work of a killed process, in each namespace with resources in the folder. In other namespaces, only the end has to be
 * recorded, which the next request does.
 */
export async function resumeWork({ folder, servicesOf, onFailure }: LeftWork): Promise<void> {
  try {
    const { manifests } = new ManifestFolder(folder).read();
    for (const namespace of new Set(manifests.map(({ metadata }) => metadata.namespace)))
      await servicesOf(namespace).operations.resume();
  } catch (problem) {
    onFailure(`work that was left undone is not taken up: ${problemOf(problem).message}`);
  }
}
