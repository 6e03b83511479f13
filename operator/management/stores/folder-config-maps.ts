import { keyText, type ResourceKey } from '#operator/world';
import { Problem } from '../problem.ts';
import { type ConfigMaps, MADE_HERE } from './config-maps.ts';
import type { ManifestFiles } from './manifest-files.ts';

const LABELS = { [MADE_HERE.name]: MADE_HERE.value };

/** @throws Problem `conflict` for a ConfigMap that somebody wrote by hand */
function checkMadeHere(said: Record<string, unknown>, name: string): void {
  if (JSON.stringify(said.metadata).includes(`"${MADE_HERE.name}":"${MADE_HERE.value}"`)) return;
  throw new Problem('conflict', `there is a ConfigMap "${name}" that is not of this API: rename or remove it`);
}

/** ConfigMaps of a folder, those of one namespace. */
export function folderConfigMaps(files: ManifestFiles, namespace: string): ConfigMaps {
  const keyOf = (name: string): ResourceKey => ({ kind: 'ConfigMap', namespace, name });
  // eslint-disable-next-line @typescript-eslint/require-await -- what reading throws is to be a rejection
  const get: ConfigMaps['get'] = async (name) => files.read().configMaps.get(`${namespace}/${name}`);
  return {
    get,
    async put(name, data) {
      const changed = await files.change(keyOf(name), (said) => {
        checkMadeHere(said, name);
        return { ...said, data };
      });
      if (changed) return;
      const metadata = { name, ...(namespace !== 'default' && { namespace }), labels: LABELS };
      await files.add({ apiVersion: 'v1', kind: 'ConfigMap', metadata, data }, `configmap-${name}`);
    },
    async delete(name) {
      if (!files.read().sources.has(keyText(keyOf(name)))) return false;
      try {
        const gone = await files.change(keyOf(name), (said) => {
          checkMadeHere(said, name);
          return undefined;
        });
        return gone !== undefined;
      } catch (problem) {
        if (problem instanceof Problem && problem.code === 'conflict') return false;
        throw problem;
      }
    },
  };
}
