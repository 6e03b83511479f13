import type { KubeApi } from '#operator/kubernetes/api/api';
import { isStatus } from '#operator/kubernetes/api/api-error';
import type { KubeObject } from '#operator/kubernetes/api/object';
import { CONFIG_MAPS } from '#operator/kubernetes/api/resources';
import { z } from 'zod';
import { Problem } from '../problem.ts';
import { type ConfigMaps, MADE_HERE } from './config-maps.ts';
import { MANAGER } from './explain-conflict.ts';
import { problemOfApi } from './problem-of-api.ts';

const Data = z.record(z.string(), z.string()).catch({});
const isMadeHere = ({ metadata }: KubeObject): boolean => metadata.labels?.[MADE_HERE.name] === MADE_HERE.value;

/** ConfigMaps of one namespace of a cluster. */
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
      return object && Data.parse(object.data);
    },
    async put(name, data) {
      const former = await live(name);
      if (former && !isMadeHere(former))
        throw new Problem('conflict', `there is a ConfigMap "${name}" that is not of this API: rename or remove it`);
      const metadata = { name, namespace, labels: { [MADE_HERE.name]: MADE_HERE.value } };
      try {
        await api.apply(
          CONFIG_MAPS,
          { apiVersion: 'v1', kind: 'ConfigMap', metadata, data },
          { fieldManager: MANAGER },
        );
      } catch (problem) {
        throw problemOfApi(problem);
      }
    },
    async delete(name) {
      const former = await live(name);
      if (!former || !isMadeHere(former)) return false;
      try {
        return await api.delete(CONFIG_MAPS, { namespace, name }, { uid: former.metadata.uid ?? '' });
      } catch (problem) {
        throw problemOfApi(problem);
      }
    },
  };
}
