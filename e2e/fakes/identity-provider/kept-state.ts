import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import type { JWK } from 'jose';
import type { Adapter, AdapterConstructor, AdapterPayload } from 'oidc-provider';

interface Entry {
  payload: AdapterPayload;
  /** Milliseconds since the epoch; absent: it never ends. */
  ends?: number;
}

/** What a provider remembers from start to start. */
export interface KeptState {
  /** Its signing keys of the last time. */
  readonly keys: JWK[] | undefined;
  readonly cookieKey: string | undefined;
  readonly adapter: AdapterConstructor;
  /** Writes all of it, for its owner alone. */
  write(keys: JWK[], cookieKey: string): void;
}

interface Written {
  keys: JWK[];
  cookieKey: string;
  entries: [string, Entry][];
}

function read(file: string): Partial<Written> {
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as Written;
  } catch {
    return {};
  }
}

/** The state in a file, which need not be there yet. */
export function openState(file: string): KeptState {
  const { keys, cookieKey, entries: former = [] } = read(file);
  const entries = new Map<string, Entry>(former);
  const alive = (key: string): AdapterPayload | undefined => {
    const entry = entries.get(key);
    if (entry?.ends !== undefined && entry.ends < Date.now()) entries.delete(key);
    return entries.get(key)?.payload;
  };

  class FileAdapter implements Adapter {
    readonly #name: string;
    constructor(name: string) {
      this.#name = name;
    }
    #key(id: string): string {
      return `${this.#name}:${id}`;
    }
    #findBy(member: 'uid' | 'userCode', value: string): AdapterPayload | undefined {
      for (const [key, { payload }] of entries) {
        if (key.startsWith(`${this.#name}:`) && payload[member] === value) return alive(key);
      }
      return undefined;
    }
    upsert(id: string, payload: AdapterPayload, expiresIn?: number) {
      const ends = expiresIn === undefined ? {} : { ends: Date.now() + expiresIn * 1000 };
      entries.set(this.#key(id), { payload, ...ends });
      return Promise.resolve();
    }
    find(id: string) {
      return Promise.resolve(alive(this.#key(id)));
    }
    findByUserCode(userCode: string) {
      return Promise.resolve(this.#findBy('userCode', userCode));
    }
    findByUid(uid: string) {
      return Promise.resolve(this.#findBy('uid', uid));
    }
    consume(id: string) {
      const payload = alive(this.#key(id));
      if (payload) payload.consumed = Math.floor(Date.now() / 1000);
      return Promise.resolve();
    }
    destroy(id: string) {
      entries.delete(this.#key(id));
      return Promise.resolve();
    }
    revokeByGrantId(grantId: string) {
      for (const [key, { payload }] of entries) if (payload.grantId === grantId) entries.delete(key);
      return Promise.resolve();
    }
  }

  return {
    keys,
    cookieKey,
    adapter: FileAdapter,
    write(signing, cookies) {
      for (const key of [...entries.keys()]) alive(key);
      const written: Written = { keys: signing, cookieKey: cookies, entries: [...entries] };
      writeFileSync(`${file}.tmp`, JSON.stringify(written), { mode: 0o600 });
      renameSync(`${file}.tmp`, file);
    },
  };
}
