import { z } from 'zod';
import type { KubeApi } from '#operator/kubernetes/api/api';
import { isStatus } from '#operator/kubernetes/api/api-error';
import type { KubeObject } from '#operator/kubernetes/api/object';
import { CONFIG_MAPS } from '#operator/kubernetes/api/resources';

interface AuthorityDeps {
  api: KubeApi;
  namespace: string;
  name: string;
}

/** The API server's own authority has the same key in its ConfigMap. */
const KEY = 'ca.crt';
const FIELD_MANAGER = 'vmcp-operator-certificates';
const Data = z.record(z.string(), z.string()).catch({});

export async function announceAuthority(authorities: string, { api, namespace, name }: AuthorityDeps): Promise<void> {
  const live = await find({ api, namespace, name });
  const data = { [KEY]: authorities };
  if (live && Data.parse(live.data)[KEY] === authorities) return;
  const labels = { 'app.kubernetes.io/managed-by': 'vmcp-operator' };
  const made = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, namespace, labels }, data };
  try {
    if (live) await api.replace(CONFIG_MAPS, { ...live, data }, { fieldManager: FIELD_MANAGER });
    else await api.create(CONFIG_MAPS, made, { fieldManager: FIELD_MANAGER });
  } catch (problem) {
    // Another replica wrote the same authorities, or this one checks again in a minute.
    if (!isStatus(problem, 409)) throw problem;
  }
}

async function find({ api, namespace, name }: AuthorityDeps): Promise<KubeObject | undefined> {
  try {
    return await api.get(CONFIG_MAPS, { namespace, name });
  } catch (problem) {
    if (isStatus(problem, 404)) return undefined;
    throw problem;
  }
}
