import { dirname, resolve } from 'node:path';
import { ConfigError } from '#runtime/errors';
import type { Log } from '#runtime/telemetry/log';
import { type LoadedRunConfig, loadRunConfig, type ParsedRunConfig, parseRunConfig } from './load-run-config.ts';
import { ListedFiles } from './listed-files.ts';
import { createSecretFiles, type SecretFiles } from './secret-files.ts';
import { FileWatch } from './watch-files.ts';

/** A newer document that is not in force, and why. */
interface RefusedRunConfig {
  /** Milliseconds since the epoch. */
  readonly at: number;
  readonly message: string;
}

/** What follows from a change. These are called one after the other, never at once. */
export interface ConfigReactions {
  /** Takes a new document over. Throws ConfigError to refuse it: then the one in force must still be served. */
  readonly apply: (next: LoadedRunConfig) => Promise<void> | void;
  /** Content of these files, named as in the document in force, is another now; `read` gives it already. */
  readonly filesChanged: (files: readonly string[]) => Promise<void> | void;
  /** A new document was refused; told once for each reason. */
  readonly refused?: (refusal: RefusedRunConfig) => void;
}

interface FollowOptions {
  readonly file: string;
  /** Folder with a mark for each file of the folder of `file` that may be served; without, all may. */
  readonly marks?: string | undefined;
  readonly log: Log;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  /** Milliseconds between two looks when nothing is notified. */
  readonly interval?: number;
  /** Milliseconds of quiet after a notification. */
  readonly debounce?: number;
}

interface FollowedOptions extends FollowOptions {
  readonly listed: ListedFiles | undefined;
}

/**
 * Loads a run configuration, to follow its changes and those of its files.
 * @throws ConfigError when there is nothing to begin with
 */
export async function followRunConfig(options: FollowOptions): Promise<FollowedRunConfig> {
  const folder = dirname(resolve(options.file));
  const listed = options.marks === undefined ? undefined : new ListedFiles(folder, options.marks);
  const files = createSecretFiles({ folder, log: options.log, listed });
  return new FollowedRunConfig({ ...options, listed }, files, await loadRunConfig(options.file, files.read, listed));
}

/**
 * The run configuration in force and the files that it names. A document that cannot be served never replaces one that
 * can: it is logged, stays in `refused`, and is tried again when it or one of its files changes.
 */
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

  /** Starts to watch. */
  async follow(reactions: ConfigReactions): Promise<void> {
    this.#reactions = reactions;
    await this.#watch.watch(this.#watched(this.#current));
    // What changed between the first reading and the first look has no notice of its own.
    await this.#watch.changed();
  }

  /** Looks for changes at once. */
  check(): Promise<void> {
    return this.#watch.check();
  }

  /** Sees nothing any more; settles when what was being taken over is in force or refused. */
  close(): Promise<void> {
    return this.#watch.close();
  }

  async #changed(): Promise<void> {
    const renewed = this.files.refresh(namesOf(this.#current));
    await this.#takeOver();
    const inForce = new Set(namesOf(this.#current));
    const concerned = renewed.filter((name) => inForce.has(name));
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
    // What only the refused document names may be what is wrong with it: the next try reads it again.
    this.files.keep(namesOf(this.#current));
    const message = error instanceof ConfigError ? error.message : 'it could not be taken over; the log has the reason';
    if (this.#refused?.message === message) return;
    this.#refused = { at: this.#options.now(), message };
    this.#options.log.error('run configuration refused; the one in force stays', { reason: message, error });
    this.#reactions?.refused?.(this.#refused);
  }

  /** The files of a refused document as well, and the marks that are missing, as it is tried again when they change. */
  #watched(...documents: readonly (LoadedRunConfig | undefined)[]): string[] {
    const names = documents.flatMap((document) => (document === undefined ? [] : namesOf(document)));
    const { file, listed } = this.#options;
    return [resolve(file), ...names.map((name) => resolve(this.#folder, name)), ...(listed?.missed ?? [])];
  }
}

function namesOf({ files }: LoadedRunConfig): string[] {
  return files.map(({ file }) => file);
}
