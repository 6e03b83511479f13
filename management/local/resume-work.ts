import { ManifestFolder } from '#local/manifest-folder';
import { problemOf } from '../problem.ts';
import type { Services } from '../services.ts';

interface LeftWork {
  folder: string;
  servicesOf: (namespace: string) => Pick<Services, 'operations'>;
  /** The text holds no secret. */
  onFailure: (text: string) => void;
}

/** Resumes namespaces with resources in the folder. In others only the end has to be recorded, which the next request does. */
export async function resumeWork({ folder, servicesOf, onFailure }: LeftWork): Promise<void> {
  try {
    const { manifests } = new ManifestFolder(folder).read();
    for (const namespace of new Set(manifests.map(({ metadata }) => metadata.namespace)))
      await servicesOf(namespace).operations.resume();
  } catch (problem) {
    onFailure(`work that was left undone is not taken up: ${problemOf(problem).message}`);
  }
}
