import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import type { JWK } from 'jose';
import type { Adapter, AdapterConstructor, AdapterPayload } from 'oidc-provider';

interface Entry {
  payload: AdapterPayload;
  /** Milliseconds since the epoch; absent: it never expires. */
  ends?: number;
}

/** State of a provider that outlives restarts. */
export interface StoredState {
  /** Its signing keys of the previous run. */
  readonly keys: JWK[] | undefined;
  readonly cookieKey: string | undefined;
  readonly adapter: AdapterConstructor;
  /** Writes the whole state, readable by its owner only. */
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

/** The entries that have not expired, by `<kind>:<id>`. */
class Entries {
  readonly #entries: Map<string, Entry>;
  constructor(former: [string, Entry][]) {
    this.#entries = new Map(former);
  }
  get(key: string): AdapterPayload | undefined {
    const entry = this.#entries.get(key);
    if (entry?.ends !== undefined && entry.ends < Date.now()) this.#entries.delete(key);
    return this.#entries.get(key)?.payload;
  }
  find(isIt: (key: string, payload: AdapterPayload) => boolean): AdapterPayload | undefined {
    for (const [key, { payload }] of this.#entries) if (isIt(key, payload)) return this.get(key);
    return undefined;
  }
  set(key: string, entry: Entry): void {
    this.#entries.set(key, entry);
  }
  delete(isIt: (key: string, payload: AdapterPayload) => boolean): void {
    for (const [key, { payload }] of this.#entries) if (isIt(key, payload)) this.#entries.delete(key);
  }
  list(): [string, Entry][] {
    for (const key of [...this.#entries.keys()]) this.get(key);
    return [...this.#entries];
  }
}

/** Storage of the library for one kind. */
class FileAdapter implements Adapter {
  readonly #name: string;
  readonly #entries: Entries;
  constructor(name: string, entries: Entries) {
    this.#name = name;
    this.#entries = entries;
  }
  #key(id: string): string {
    return `${this.#name}:${id}`;
  }
  #findBy(member: 'uid' | 'userCode', value: string) {
    const isIt = (key: string, payload: AdapterPayload) => key.startsWith(this.#key('')) && payload[member] === value;
    return Promise.resolve(this.#entries.find(isIt));
  }
  upsert(id: string, payload: AdapterPayload, expiresIn?: number) {
    const ends = expiresIn === undefined ? {} : { ends: Date.now() + expiresIn * 1000 };
    this.#entries.set(this.#key(id), { payload, ...ends });
    return Promise.resolve();
  }
  find(id: string) {
    return Promise.resolve(this.#entries.get(this.#key(id)));
  }
  findByUserCode(userCode: string) {
    return this.#findBy('userCode', userCode);
  }
  findByUid(uid: string) {
    return this.#findBy('uid', uid);
  }
  consume(id: string) {
    const payload = this.#entries.get(this.#key(id));
    if (payload) payload.consumed = Math.floor(Date.now() / 1000);
    return Promise.resolve();
  }
  destroy(id: string) {
    this.#entries.delete((key) => key === this.#key(id));
    return Promise.resolve();
  }
  revokeByGrantId(grantId: string) {
    this.#entries.delete((_key, payload) => payload.grantId === grantId);
    return Promise.resolve();
  }
}

/** Opens the state in a file, which need not exist yet. */
export function openState(file: string): StoredState {
  const { keys, cookieKey, entries: former = [] } = read(file);
  const entries = new Entries(former);
  return {
    keys,
    cookieKey,
    adapter: class extends FileAdapter {
      constructor(name: string) {
        super(name, entries);
      }
    },
    write(signing, cookies) {
      const written: Written = { keys: signing, cookieKey: cookies, entries: entries.list() };
      writeFileSync(`${file}.tmp`, JSON.stringify(written), { mode: 0o600 });
      renameSync(`${file}.tmp`, file);
    },
  };
}
