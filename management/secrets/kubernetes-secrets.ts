import { z } from 'zod';
import { STORED_SECRET } from '#crds/parts/defaults';
import { isStatus } from '#operator/kubernetes/api/api-error';
import type { KubeApi } from '#operator/kubernetes/api/api';
import type { KubeObject } from '#operator/kubernetes/api/object';
import { SECRETS } from '#operator/kubernetes/api/resources';
import { Problem } from '../problem.ts';
import { problemOfApi } from '../stores/problem-of-api.ts';
import { knownKey, MOST_SECRETS, type Secrets, tooManySecrets, unknownKey } from './secrets.ts';

/** Bytes of all values in base64; the API server accepts 1 MiB. */
const LONGEST_SECRET = 1_000_000;
const ATTEMPTS = 20;
const MANAGER = { fieldManager: 'vmcp-management' };

/** The label differs for an installation with another API group. */
const labelOf = (apiGroup: string): string => `${apiGroup}/secrets-provider`;

interface SecretsInCluster {
  api: KubeApi;
  namespace: string;
  apiGroup: string;
}

type Data = Map<string, string>;

const SecretData = z.record(z.string(), z.string()).optional();

/** Uses only the one labelled Secret. */
class KubernetesSecrets implements Secrets {
  readonly #in: SecretsInCluster;
  readonly #label: string;

  constructor(where: SecretsInCluster) {
    this.#in = where;
    this.#label = labelOf(where.apiGroup);
  }

  setUp(type: string): ReturnType<Secrets['setUp']> {
    if (type === 'kubernetes')
      return Promise.resolve({ type, message: `secrets provider kubernetes is active: Secret "${STORED_SECRET}"` });
    const said = `provider_type: ${type} is for one machine; in a cluster write kubernetes`;
    return Promise.reject(new Problem('unsupported_provider', said));
  }

  async list(): ReturnType<Secrets['list']> {
    const live = await this.#live();
    return { type: 'kubernetes', keys: live ? [...dataOf(live).keys()].sort() : [] };
  }

  create(key: string, value: string, mayAdd?: () => Promise<void>): Promise<void> {
    return this.#change((data) => {
      if (data.has(key)) throw knownKey(key);
      if (data.size >= MOST_SECRETS) throw tooManySecrets();
      data.set(key, encode(value));
    }, mayAdd);
  }

  replace(key: string, value: string): Promise<void> {
    return this.#change((data) => {
      if (!data.has(key)) throw unknownKey(key);
      data.set(key, encode(value));
    });
  }

  delete(key: string): Promise<void> {
    return this.#change((data) => {
      if (!data.delete(key)) throw unknownKey(key);
    });
  }

  async #change(change: (data: Data) => void, mayChange?: () => Promise<void>): Promise<void> {
    for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
      const live = await this.#live();
      if (live) await mayChange?.();
      const data: Data = live ? dataOf(live) : new Map<string, string>();
      change(data);
      checkSize(data);
      if (await this.#write(live, data)) return;
    }
    throw new Problem('unavailable', `Secret "${STORED_SECRET}" is being changed all the time: try again`);
  }

  async #live(): Promise<KubeObject | undefined> {
    const { api, namespace } = this.#in;
    try {
      const live = await api.get(SECRETS, { namespace, name: STORED_SECRET });
      if (live.metadata.labels?.[this.#label] === 'true') return live;
    } catch (problem) {
      if (isStatus(problem, 404)) return undefined;
      throw problemOfApi(problem);
    }
    const remedy = `delete it, or label it ${this.#label}=true to hand it over`;
    throw new Problem('conflict', `Secret "${STORED_SECRET}" was made by somebody else: ${remedy}`);
  }

  async #write(live: KubeObject | undefined, data: Data): Promise<boolean> {
    const { api, namespace } = this.#in;
    const labels = { 'app.kubernetes.io/managed-by': MANAGER.fieldManager, [this.#label]: 'true' };
    const made = { apiVersion: 'v1', kind: 'Secret', metadata: { name: STORED_SECRET, namespace, labels } };
    try {
      if (live) await api.replace(SECRETS, { ...live, data: Object.fromEntries(data) }, MANAGER);
      else await api.create(SECRETS, { ...made, type: 'Opaque', data: Object.fromEntries(data) }, MANAGER);
      return true;
    } catch (problem) {
      if (isStatus(problem, 404, 409)) return false;
      throw problemOfApi(problem);
    }
  }
}

function dataOf({ data }: KubeObject): Data {
  return new Map(Object.entries(SecretData.parse(data) ?? {}));
}

function encode(value: string): string {
  return Buffer.from(value).toString('base64');
}

function checkSize(data: Data): void {
  const bytes = [...data].reduce((sum, [key, value]) => sum + key.length + value.length, 0);
  if (bytes <= LONGEST_SECRET) return;
  throw new Problem('too_large', `all secrets together are longer than ${LONGEST_SECRET} bytes: delete some first`);
}

export function kubernetesSecrets(where: SecretsInCluster): Secrets {
  return new KubernetesSecrets(where);
}
