import { createHmac } from 'node:crypto';
import type { Log } from '#lib/log/log';
import type { SecretDigests } from '#operator/snapshot';
import type { KubeApi } from '../api/api.ts';
import { type CachedValue, NamedValues, WEIGHT_OF_KEY } from '../watch/named-values.ts';
import type { KubeObject } from '../api/object.ts';
import { SECRETS } from '../api/resources.ts';

/** Values of the Secrets that resources name, and their keyed hashes for the planner. */
export class SecretValues {
  readonly named: NamedValues<SecretDigests>;
  readonly #data = new WeakMap<SecretDigests, Record<string, string>>();
  #key: string | undefined;

  constructor(api: KubeApi, log: Log) {
    const valueOf = (secret: KubeObject, keys: ReadonlySet<string>) =>
      this.keep((secret.data ?? {}) as Record<string, string>, keys);
    this.named = new NamedValues(api, SECRETS, { field: 'secrets', valueOf, log });
  }

  /** Sets the HMAC key. Call it before hashing. */
  useKey(key: string): void {
    this.#key = key;
  }

  /** Returns a keyed hash (hex) of bytes, so that a file name does not reveal its content. */
  digest(value: Buffer | string): string {
    if (this.#key === undefined) throw new Error('there is no key to hash under yet');
    return createHmac('sha256', this.#key).update(value).digest('hex');
  }

  value(namespace: string, name: string, key: string): string | undefined {
    const digests = this.named.get(namespace, name);
    return digests && this.#data.get(digests)?.[key];
  }

  /** Keeps the values of referenced keys, and only digests of the others. */
  keep(data: Record<string, string>, keys: ReadonlySet<string>): CachedValue<SecretDigests> {
    const entries = Object.entries(data).map(([key, text]) => [key, this.digest(Buffer.from(text, 'base64'))] as const);
    const digests = Object.fromEntries(entries);
    const named = Object.entries(data).filter(([key]) => keys.has(key));
    this.#data.set(digests, Object.fromEntries(named));
    const values = named.reduce((sum, [, text]) => sum + text.length, 0);
    return { value: digests, bytes: values + entries.length * WEIGHT_OF_KEY };
  }
}
