import { existsSync, mkdirSync, readdirSync, rmSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { z } from 'zod';
import type { FileLock } from '#lib/files/file-lock';
import { isUnfinished, readIfThere, replaceFile } from '#lib/files/write-file';
import { Problem } from '../problem.ts';
import { damaged, deriveKey, fits, openSealed, parseSealed, saltOf, type SealKey, sealText } from './sealed-text.ts';

/** Maps namespace to key to value. The file stores pairs, because names are any text, including `__proto__`. */
export type Contents = Map<string, Map<string, string>>;

const Pairs = z.array(z.tuple([z.string(), z.array(z.tuple([z.string(), z.string()]))]));

interface EncryptedFileOptions {
  path: string;
  /** Held while a process reads, changes and writes the file. */
  lock: FileLock;
  /** Returns the external password, read anew on each call; undefined when there is none. */
  password: () => string | undefined;
  /** scrypt by default, faster in tests. */
  derive?: typeof deriveKey | undefined;
}

export type Opened = 'made' | 'opened' | 'sealed anew';

/** Takes the password from outside or a setup in this process. Replaces the whole file, so a kill leaves a valid one. */
export class EncryptedFile {
  readonly #options: EncryptedFileOptions;
  readonly #derive: typeof deriveKey;
  #key: SealKey | undefined;
  #password: string | undefined;

  constructor(options: EncryptedFileOptions) {
    this.#options = options;
    this.#derive = options.derive ?? deriveKey;
  }

  get path(): string {
    return this.#options.path;
  }

  /** @throws Problem `not_found` where there is no file, `secrets_locked`, `store_damaged` */
  async read(): Promise<Contents> {
    return (await this.#open()).contents;
  }

  /** Changes the content under the lock; if `change` throws, nothing is written. @throws as `read` */
  async update(change: (contents: Contents) => void): Promise<void> {
    await this.#options.lock.run(async () => {
      const { contents, key } = await this.#open();
      change(contents);
      this.#write(contents, key);
    });
  }

  /** Seals an openable file anew with `given`; without it, the external password is used. @throws Problem `bad_request` */
  async setUp(given: string | undefined): Promise<Opened> {
    return this.#options.lock.run(async () => {
      const password = given ?? this.#options.password();
      if (password === undefined) throw noPassword();
      checkPassword(password);
      const done = existsSync(this.path) ? await this.#reopen(password) : await this.#make(password);
      this.#password = password;
      return done;
    });
  }

  async #make(password: string): Promise<Opened> {
    this.#write(new Map(), await this.#derive(password));
    return 'made';
  }

  async #reopen(password: string): Promise<Opened> {
    const sealed = this.#sealed();
    const key = await this.#derive(password, saltOf(sealed));
    if (fits(sealed, key)) {
      readContents(openSealed(sealed, key, this.path), this.path);
      this.#key = key;
      return 'opened';
    }
    const { contents } = await this.#open().catch((problem: unknown) => {
      if (!(problem instanceof Problem) || problem.code !== 'secrets_locked') throw problem;
      const remedy = 'send the password that it has, or start vmcp with that one to change it';
      throw new Problem('bad_request', `password: it does not open ${this.path}; ${remedy}`);
    });
    this.#write(contents, await this.#derive(password));
    return 'sealed anew';
  }

  #sealed() {
    const text = readIfThere(this.path);
    if (text === undefined) throw new Problem('not_found', `${this.path} is not there: set up the secrets again`);
    return parseSealed(text, this.path);
  }

  async #open(): Promise<{ contents: Contents; key: SealKey }> {
    const sealed = this.#sealed();
    const key = await this.#keyOf(sealed);
    return { contents: readContents(openSealed(sealed, key, this.path), this.path), key };
  }

  async #keyOf(sealed: ReturnType<typeof parseSealed>): Promise<SealKey> {
    if (this.#key && fits(sealed, this.#key)) return this.#key;
    const passwords = new Set([this.#password, this.#options.password()].filter((one) => one !== undefined));
    for (const password of passwords) {
      const key = await this.#derive(password, saltOf(sealed));
      if (fits(sealed, key)) return (this.#key = key);
    }
    const why = passwords.size === 0 ? 'no password is known here' : 'the password that is known here is another one';
    throw new Problem('secrets_locked', `${this.path} is locked, as ${why}: ${REMEDY}`);
  }

  #write(contents: Contents, key: SealKey): void {
    const folder = dirname(this.path);
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    for (const name of readdirSync(folder))
      if (name.startsWith(basename(this.path)) && isUnfinished(name)) rmSync(join(folder, name));
    const pairs = [...contents].map(([namespace, values]) => [namespace, [...values]]);
    replaceFile(this.path, sealText(JSON.stringify(pairs), key));
    this.#key = key;
  }
}

const REMEDY =
  'give its password by VMCP_SECRETS_PASSWORD_FILE (a file) or VMCP_SECRETS_PASSWORD and start vmcp again, or set up the secrets with it';

function noPassword(): Problem {
  return new Problem('bad_request', 'password: required field is missing; send one, or start vmcp with one in a file');
}

/** Requires a password that is long enough and can be typed. */
function checkPassword(password: string): void {
  if (password.length >= 8 && password.length <= 1024) return;
  throw new Problem('bad_request', 'password: write 8 to 1024 characters');
}

/** Errors must not contain any part of the text. */
function readContents(text: string, path: string): Contents {
  try {
    return new Map(Pairs.parse(JSON.parse(text)).map(([namespace, values]) => [namespace, new Map(values)]));
  } catch {
    throw damaged(path);
  }
}
