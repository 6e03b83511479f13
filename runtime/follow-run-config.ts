import { dirname, resolve } from 'node:path';
import { ConfigError } from '#runtime/errors';
import type { Log } from '#runtime/telemetry/log';
import { type LoadedRunConfig, loadRunConfig, type ParsedRunConfig, parseRunConfig } from './load-run-config.ts';
import { ListedFiles } from './listed-files.ts';
import { createSecretFiles, type SecretFiles } from './secret-files.ts';
import { FileWatch } from './watch-files.ts';

interface RefusedRunConfig {
  /** Milliseconds since the epoch. */
  readonly at: number;
  readonly message: string;
}

/** Reactions to a change. They are called one at a time. */
export interface ConfigReactions {
  /** Applies a new document. It throws ConfigError to refuse the document; the former one must then still be served. */
  readonly apply: (next: LoadedRunConfig) => Promise<void> | void;
  /** Files are named as in the active document; `read` already returns the new content. */
  readonly filesChanged: (files: readonly string[]) => Promise<void> | void;
  /** Called once for each reason to refuse a new document. */
  readonly refused?: (refusal: RefusedRunConfig) => void;
}

interface FollowOptions {
  readonly file: string;
  /** Folder with a digest for each file in the folder of `file` that may be served; absent: all may. */
  readonly allowedDigests?: string | undefined;
  readonly log: Log;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  /** Milliseconds between two checks without a notification. */
  readonly interval?: number;
  /** Milliseconds without further notification before a check. */
  readonly debounce?: number;
}

interface FollowedOptions extends FollowOptions {
  readonly listed: ListedFiles | undefined;
}

/** Loads a run configuration in order to follow its changes and those of its files. @throws ConfigError if the first document is invalid */
export async function followRunConfig(options: FollowOptions): Promise<FollowedRunConfig> {
  const folder = dirname(resolve(options.file));
  const listed = options.allowedDigests === undefined ? undefined : new ListedFiles(folder, options.allowedDigests);
  const files = createSecretFiles({ folder, log: options.log, listed });
  return new FollowedRunConfig({ ...options, listed }, files, await loadRunConfig(options.file, files.read, listed));
}

/** An invalid document never replaces a valid one. It is logged, stays in `refused`, and is retried when it or its files change. */
export class FollowedRunConfig {
  readonly files: SecretFiles;
  readonly #options: FollowedOptions;
  readonly #folder: string;
  readonly #watch: FileWatch;
  #current: LoadedRunConfig;
  #refused: RefusedRunConfig | undefined;
  #reactions: ConfigReactions | undefined;

  constructor(options: FollowedOptions, files: SecretFiles, first: LoadedRunConfig) {
    this.files = files;
    this.#options = options;
    this.#folder = dirname(resolve(options.file));
    this.#current = first;
    this.#watch = new FileWatch({ ...options, onChange: () => this.#changed() });
  }

  get current(): LoadedRunConfig {
    return this.#current;
  }

  get refused(): RefusedRunConfig | undefined {
    return this.#refused;
  }

  async follow(reactions: ConfigReactions): Promise<void> {
    this.#reactions = reactions;
    await this.#watch.watch(this.#watched(this.#current));
    // Changes between the first reading and this check cause no notification.
    await this.#watch.changed();
  }

  check(): Promise<void> {
    return this.#watch.check();
  }

  close(): Promise<void> {
    return this.#watch.close();
  }

  async #changed(): Promise<void> {
    const renewed = this.files.refresh(namesOf(this.#current));
    await this.#takeOver();
    const activeConfig = new Set(namesOf(this.#current));
    const concerned = renewed.filter((name) => activeConfig.has(name));
    if (concerned.length === 0) return;
    this.#options.log.info('files changed', { files: concerned });
    await this.#reactions?.filesChanged(concerned);
  }

  async #takeOver(): Promise<void> {
    const { file, listed } = this.#options;
    let next: ParsedRunConfig | undefined;
    listed?.forget();
    try {
      next = await parseRunConfig(file, listed);
      if (next.digest === this.#current.digest) this.#refused = undefined;
      else await this.#replaceBy(next);
    } catch (error) {
      this.#refuse(error);
    }
    await this.#watch.watch(this.#watched(this.#current, next));
  }

  async #replaceBy(next: ParsedRunConfig): Promise<void> {
    next.checkFiles(this.files.read);
    await this.#reactions?.apply(next);
    this.#current = next;
    this.#refused = undefined;
    this.files.keep(namesOf(next));
    this.#options.log.info('run configuration taken over', { digest: next.digest });
  }

  #refuse(error: unknown): void {
    // The error may be in a file that only the refused document names, so the next attempt rereads those files.
    this.files.keep(namesOf(this.#current));
    const message = error instanceof ConfigError ? error.message : 'it could not be taken over; the log has the reason';
    if (this.#refused?.message === message) return;
    this.#refused = { at: this.#options.now(), message };
    this.#options.log.error('run configuration refused; the former one stays active', { reason: message, error });
    this.#reactions?.refused?.(this.#refused);
  }

  /** Includes the files of a refused document and missing digests: a change of them causes a new attempt. */
  #watched(...documents: readonly (LoadedRunConfig | undefined)[]): string[] {
    const names = documents.flatMap((document) => (document === undefined ? [] : namesOf(document)));
    const { file, listed } = this.#options;
    return [resolve(file), ...names.map((name) => resolve(this.#folder, name)), ...(listed?.missed ?? [])];
  }
}

function namesOf({ files }: LoadedRunConfig): string[] {
  return files.map(({ file }) => file);
}
