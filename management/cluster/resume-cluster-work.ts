import type { KubeApi } from '#operator/kubernetes/api/api';
import { listAll } from '#operator/kubernetes/api/list-all';
import { CONFIG_MAPS } from '#operator/kubernetes/api/resources';
import { problemOf } from '../problem.ts';
import type { Services } from '../services.ts';
import { recordSelector } from '../stores/config-map-records.ts';
import { problemOfApi } from '../stores/problem-of-api.ts';

interface LeftWork {
  api: KubeApi;
  /** API group of this installation. Another installation resumes its own operations. */
  apiGroup: string;
  /** Namespaces that this API serves; empty: all. */
  watched: readonly string[];
  servicesOf: (namespace: string) => Pick<Services, 'operations'>;
  /** Called when an operation cannot be resumed. The text contains no secret. */
  onFailure: (text: string) => void;
}

/** Resumes operations of ended processes. An operation that cannot resume now resumes when a caller requests it. */
export async function resumeClusterWork({ api, apiGroup, watched, servicesOf, onFailure }: LeftWork): Promise<void> {
  const tell = (problem: unknown) =>
    onFailure(`work that was left undone is not taken up: ${problemOf(problemOfApi(problem)).message}`);
  try {
    for (const namespace of await namespacesWithWork(api, apiGroup, watched))
      await servicesOf(namespace).operations.resume().catch(tell);
  } catch (problem) {
    tell(problem);
  }
}

async function namespacesWithWork(api: KubeApi, apiGroup: string, watched: readonly string[]): Promise<Set<string>> {
  const places = watched.length === 0 ? [undefined] : watched;
  const found = new Set<string>();
  for (const namespace of places) {
    const selection = { namespace, labelSelector: recordSelector('operations', apiGroup), metadataOnly: true };
    for await (const { metadata } of listAll(api, CONFIG_MAPS, selection)) found.add(metadata.namespace ?? '');
  }
  return found;
}
