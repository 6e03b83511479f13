import type { KubeApi } from '#operator/kubernetes/api/api';
import { listAll } from '#operator/kubernetes/api/list-all';
import { CONFIG_MAPS } from '#operator/kubernetes/api/resources';
import { problemOf } from '../problem.ts';
import type { Rooms } from '../rooms.ts';
import { recordSelector } from '../stores/config-map-records.ts';
import { problemOfApi } from '../stores/problem-of-api.ts';

interface LeftWork {
  api: KubeApi;
  /** Of the installation: the work of another one is its own. */
  apiGroup: string;
  /** Namespaces that the operator works for; empty: all. */
  watched: readonly string[];
  roomsOf: (namespace: string) => Pick<Rooms, 'operations'>;
  /** Told of what cannot be taken up; holds no secret. */
  onFailure: (text: string) => void;
}

/** Takes up what an operator that has ended left undone. What cannot be taken up now is when somebody asks for it. */
export async function resumeClusterWork({ api, apiGroup, watched, roomsOf, onFailure }: LeftWork): Promise<void> {
  const tell = (problem: unknown) =>
    onFailure(`work that was left undone is not taken up: ${problemOf(problemOfApi(problem)).message}`);
  try {
    for (const namespace of await namespacesWithWork(api, apiGroup, watched))
      await roomsOf(namespace).operations.resume().catch(tell);
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
