import { join } from 'node:path';
import { z } from 'zod';
import { FileLock } from '#lib/files/file-lock';
import type { StateFolder } from '#local/state-folder';
import { readIfThere, replaceFile } from '#lib/files/write-file';
import { parseJson } from '#lib/json/parse-json';
import { Problem } from '../problem.ts';
import { withFileProblems } from '../stores/problem-of-file.ts';
import { EncryptedFile } from './encrypted-file.ts';
import type { deriveKey } from './sealed-text.ts';
import type { LocalProvider } from './local-provider.ts';
import { onePasswordProvider } from './one-password-provider.ts';
import { readPassword } from './read-password.ts';
import {
  knownKey,
  MOST_SECRETS,
  type ProviderType,
  readOnly,
  type Secrets,
  type SetUp,
  tooManySecrets,
  unknownKey,
} from './secrets.ts';

const LOCAL_TYPES = ['encrypted', 'environment', '1password'] as const;
const Chosen = z.strictObject({ provider_type: z.enum(LOCAL_TYPES) });

interface LocalSecretsOptions {
  state: StateFolder;
  /** Passwords, secrets, and the variables of `op`. */
  environment: NodeJS.ProcessEnv;
  /** For tests. */
  derive?: typeof deriveKey;
}

/** Covers all namespaces; the state folder records the active provider. One instance per process. */
export class LocalSecrets {
  readonly #chosen: string;
  readonly #lock: FileLock;
  readonly #providers: Record<(typeof LOCAL_TYPES)[number], LocalProvider>;
  readonly #listeners = new Set<() => void>();
  /** Files whose content changes with a secret or the provider. */
  readonly files: readonly string[];

  constructor({ state, environment, derive }: LocalSecretsOptions) {
    const folder = join(state.path, 'secrets');
    this.#chosen = join(folder, 'provider.json');
    this.#lock = new FileLock(join(folder, '.lock'));
    const password = () => readPassword(environment);
    const file = new EncryptedFile({ path: join(folder, 'secrets.encrypted'), lock: this.#lock, password, derive });
    this.files = [this.#chosen, file.path];
    this.#providers = {
      encrypted: encryptedProvider(file),
      environment: environmentProvider(environment),
      '1password': onePasswordProvider(environment),
    };
  }

  /** Calls `changed` after each change made by this process. Returns a function that ends the subscription. */
  listen(changed: () => void): () => void {
    this.#listeners.add(changed);
    return () => this.#listeners.delete(changed);
  }

  /** Returns existing keys; none without a provider. @throws Problem */
  async read(namespace: string, keys: readonly string[]): Promise<Map<string, string>> {
    return withFileProblems(
      async () => (await this.#activeProvider()?.read(namespace, keys)) ?? new Map<string, string>(),
    );
  }

  in(namespace: string): Secrets {
    const update = (change: (values: Map<string, string>) => void) => this.#update(namespace, change);
    return {
      setUp: (type, password) => withFileProblems(() => this.#setUp(type, password)),
      list: () =>
        withFileProblems(async () => {
          const provider = this.#required();
          return { type: provider.type, keys: (await provider.list(namespace)).sort() };
        }),
      create: (key, value) =>
        update((values) => {
          if (values.has(key)) throw knownKey(key);
          if (values.size >= MOST_SECRETS) throw tooManySecrets();
          values.set(key, value);
        }),
      replace: (key, value) =>
        update((values) => {
          if (!values.has(key)) throw unknownKey(key);
          values.set(key, value);
        }),
      delete: (key) =>
        update((values) => {
          if (!values.delete(key)) throw unknownKey(key);
        }),
    };
  }

  async #setUp(type: ProviderType, password: string | undefined): Promise<SetUp> {
    if (type === 'kubernetes') {
      const remedy = `write one of ${LOCAL_TYPES.join(', ')}`;
      throw new Problem('unsupported_provider', `provider_type: kubernetes is for clusters; on one machine ${remedy}`);
    }
    const provider = this.#providers[type];
    const done = await provider.setUp(password);
    await this.#lock.run(() => {
      replaceFile(this.#chosen, `${JSON.stringify({ provider_type: type })}\n`);
    });
    this.#tell();
    const what = done === undefined ? provider.where : `${provider.where} is ${done}`;
    return { type, message: `secrets provider ${type} is active: ${what}` };
  }

  #update(namespace: string, change: (values: Map<string, string>) => void): Promise<void> {
    return withFileProblems(async () => {
      const provider = this.#required();
      if (!provider.update) throw readOnly(provider.type, provider.where);
      await provider.update(namespace, change);
      this.#tell();
    });
  }

  #required(): LocalProvider {
    const provider = this.#activeProvider();
    if (provider) return provider;
    throw new Problem(
      'not_found',
      'no secrets provider is set up: set one up first (POST /secrets, or vmcp secret setup)',
    );
  }

  #activeProvider(): LocalProvider | undefined {
    const text = readIfThere(this.#chosen);
    if (text === undefined) return undefined;
    const { data } = Chosen.safeParse(parseJson(text));
    if (data) return this.#providers[data.provider_type];
    throw new Problem('store_damaged', `${this.#chosen} is damaged: set up the secrets provider again`);
  }

  #tell(): void {
    for (const changed of this.#listeners) changed();
  }
}

function encryptedProvider(file: EncryptedFile): LocalProvider {
  return {
    type: 'encrypted',
    where: file.path,
    list: async (namespace) => [...((await file.read()).get(namespace)?.keys() ?? [])],
    async read(namespace, keys) {
      const values = (await file.read()).get(namespace);
      return new Map(keys.flatMap((key) => entry(key, values?.get(key))));
    },
    setUp: (password) => file.setUp(password),
    update: (namespace, change) =>
      file.update((contents) => {
        const values = contents.get(namespace) ?? new Map<string, string>();
        change(values);
        if (values.size > 0) contents.set(namespace, values);
        else contents.delete(namespace);
      }),
  };
}

function entry(key: string, value: string | undefined): [string, string][] {
  return value === undefined ? [] : [[key, value]];
}

const PREFIX = 'VMCP_SECRET_';

/** Reads `VMCP_SECRET_<key>`, the same in every namespace. */
function environmentProvider(environment: NodeJS.ProcessEnv): LocalProvider {
  return {
    type: 'environment',
    where: `set ${PREFIX}<key> and start vmcp again`,
    list: () =>
      Promise.resolve(
        Object.keys(environment)
          .filter((name) => name.startsWith(PREFIX) && name.length > PREFIX.length)
          .map((name) => name.slice(PREFIX.length)),
      ),
    read: (_namespace, keys) =>
      Promise.resolve(
        new Map(
          keys.flatMap((key): [string, string][] => {
            const value = environment[`${PREFIX}${key}`];
            return value === undefined ? [] : [[key, value]];
          }),
        ),
      ),
    setUp: () => Promise.resolve(undefined),
  };
}
