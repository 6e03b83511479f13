import type { KubeApi } from '#operator/kubernetes/api/api';
import { isStatus } from '#operator/kubernetes/api/api-error';
import type { KubeObject } from '#operator/kubernetes/api/object';
import { CONFIG_MAPS } from '#operator/kubernetes/api/resources';
import { z } from 'zod';
import { Problem } from '../problem.ts';
import { type ConfigMaps, MADE_HERE } from './config-maps.ts';
import { MANAGER } from './explain-conflict.ts';
import { problemOfApi } from './problem-of-api.ts';
import { stale } from './record-store.ts';

const Data = z.record(z.string(), z.string()).catch({});
const isMadeHere = ({ metadata }: KubeObject): boolean => metadata.labels?.[MADE_HERE.name] === MADE_HERE.value;

export function clusterConfigMaps(api: KubeApi, namespace: string): ConfigMaps {
  async function live(name: string): Promise<KubeObject | undefined> {
    try {
      return await api.get(CONFIG_MAPS, { namespace, name });
    } catch (problem) {
      if (isStatus(problem, 404)) return undefined;
      throw problemOfApi(problem);
    }
  }
  return {
    get: async (name) => {
      const object = await live(name);
      return object && { data: Data.parse(object.data), version: versionOf(object) };
    },
    async put(name, data, version) {
      const former = await live(name);
      if (former && !isMadeHere(former))
        throw new Problem('conflict', `there is a ConfigMap "${name}" that is not of this API: rename or remove it`);
      if ((former && versionOf(former)) !== version) throw stale(name);
      const metadata = { name, namespace, labels: { [MADE_HERE.name]: MADE_HERE.value } };
      const made = { apiVersion: 'v1', kind: 'ConfigMap', metadata, data };
      // The write sends the former version, and a create fails if the name exists.
      return attempt(name, async () =>
        versionOf(
          await (former
            ? api.replace(CONFIG_MAPS, { ...former, data }, WRITER)
            : api.create(CONFIG_MAPS, made, WRITER)),
        ),
      );
    },
    async delete(name, version) {
      const former = await live(name);
      if (!former || !isMadeHere(former)) return false;
      const { uid = '' } = former.metadata;
      return attempt(name, () => api.delete(CONFIG_MAPS, { namespace, name }, { uid, resourceVersion: version }));
    },
  };
}

const WRITER = { fieldManager: MANAGER };

const versionOf = ({ metadata: { resourceVersion = '' } }: KubeObject): string => resourceVersion;

async function attempt<T>(name: string, write: () => Promise<T>): Promise<T> {
  try {
    return await write();
  } catch (problem) {
    throw isStatus(problem, 404, 409) ? stale(name) : problemOfApi(problem);
  }
}
