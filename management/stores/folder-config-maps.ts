import { keyText, type ResourceKey } from '#operator/snapshot';
import { Problem } from '../problem.ts';
import { type ConfigMaps, MADE_HERE, type StoredConfigMap } from './config-maps.ts';
import type { ManifestFiles } from './manifest-files.ts';
import { stale } from './record-store.ts';
import { versionOf } from './version-of.ts';

const LABELS = { [MADE_HERE.name]: MADE_HERE.value };

/** @throws Problem `conflict` for a ConfigMap that a user wrote by hand */
function checkMadeHere(said: Record<string, unknown>, name: string): void {
  if (JSON.stringify(said.metadata).includes(`"${MADE_HERE.name}":"${MADE_HERE.value}"`)) return;
  throw new Problem('conflict', `there is a ConfigMap "${name}" that is not of this API: rename or remove it`);
}

export function folderConfigMaps(files: ManifestFiles, namespace: string): ConfigMaps {
  const keyOf = (name: string): ResourceKey => ({ kind: 'ConfigMap', namespace, name });
  const read = (name: string): StoredConfigMap | undefined => {
    const data = files.read().configMaps.get(`${namespace}/${name}`);
    return data && { data, version: versionOf({ metadata: {}, spec: data }) };
  };
  /** No other part of this program writes at the same time. */
  const check = (said: Record<string, unknown>, name: string, version: string | undefined): void => {
    checkMadeHere(said, name);
    if (read(name)?.version !== version) throw stale(name);
  };
  return {
    // eslint-disable-next-line @typescript-eslint/require-await -- what reading throws is to be a rejection
    get: async (name) => read(name),
    async put(name, data, version) {
      const changed = await files.change(keyOf(name), (said) => {
        check(said, name, version);
        return { ...said, data };
      });
      if (!changed) {
        if (version !== undefined) throw stale(name);
        const metadata = { name, ...(namespace !== 'default' && { namespace }), labels: LABELS };
        const made = { apiVersion: 'v1', kind: 'ConfigMap', metadata, data };
        if (!(await files.add(made, { key: keyOf(name), name: `configmap-${name}` }))) throw stale(name);
      }
      return versionOf({ metadata: {}, spec: data });
    },
    async delete(name, version) {
      if (!files.read().sources.has(keyText(keyOf(name)))) return false;
      try {
        const gone = await files.change(keyOf(name), (said) => {
          check(said, name, version);
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
