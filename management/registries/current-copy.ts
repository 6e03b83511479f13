import { FetchFailure } from '../fetching/fetch-failure.ts';
import type { CachedCopies } from './cached-copies.ts';
import { type Page, weightOfPages } from './page.ts';
import type { RegistryQuota } from './registry-quota.ts';

/** Milliseconds until pages are read again. */
const MAX_AGE = 300_000;
/** Milliseconds without another attempt after a failure. */
const COOL_DOWN = 60_000;
/** Milliseconds that a reader waits for the source if there is a copy. */
const PATIENCE = 5_000;
/** Milliseconds for all pages of a registry. */
export const READ_DEADLINE = 45_000;

interface CurrentCopyOptions {
  name: string;
  source: string;
  kept: CachedCopies;
  read: (former: readonly Page[], signal: AbortSignal) => Promise<Page[]>;
  quota: Pick<RegistryQuota, 'read' | 'load' | 'memory'>;
  onEvict: () => void;
  /** Milliseconds. */
  now: () => number;
  /** Called when the source cannot be read while a copy serves, or when the copy cannot be stored. */
  onProblem: (text: string) => void;
}

/** Reads old pages again, stores them for restarts, and serves them while the source fails. */
export class CurrentCopy {
  readonly #options: CurrentCopyOptions;
  #pages: Page[] | undefined;
  #isDropped = false;
  #readAt = -Infinity;
  #failedAt = -Infinity;
  #flight: Promise<Page[]> | undefined;
  #loading: Promise<Page[] | undefined> | undefined;

  constructor(options: CurrentCopyOptions) {
    this.#options = options;
  }

  /** @throws FetchFailure or Problem if there is no copy and the source cannot be read */
  async pages(): Promise<readonly Page[]> {
    const { now, quota } = this.#options;
    quota.memory.touch(this);
    const known = this.#pages ?? (await this.#load());
    if (known === undefined) return this.refresh();
    const isOld = now() - this.#readAt > MAX_AGE && now() - this.#failedAt > COOL_DOWN;
    if (!isOld && !this.#flight) return known;
    await settledWithin(this.refresh(), PATIENCE);
    return this.#pages ?? known;
  }

  /** Discards the pages and the result of pending reads, because the settings have been replaced. */
  drop(): void {
    this.#isDropped = true;
    this.#options.quota.memory.delete(this);
    this.#pages = undefined;
  }

  /** Shares one read among concurrent calls. @throws FetchFailure, Problem */
  refresh(): Promise<Page[]> {
    this.#flight ??= this.#refresh().finally(() => (this.#flight = undefined));
    return this.#flight;
  }

  async adopt(pages: Page[]): Promise<void> {
    this.#have(pages);
    this.#readAt = this.#options.now();
    await this.#keep(pages);
  }

  async #refresh(): Promise<Page[]> {
    const { quota, now, onProblem, source } = this.#options;
    const signal = AbortSignal.timeout(READ_DEADLINE);
    try {
      return await quota.read(signal, () => this.#read(signal));
    } catch (error) {
      this.#failedAt = now();
      if (this.#pages) onProblem(`registry ${source}: ${reasonOf(error)}; what was read last is served`);
      throw error;
    }
  }

  async #read(signal: AbortSignal): Promise<Page[]> {
    const { read, now } = this.#options;
    const former = this.#pages ?? [];
    const pages = await read(former, signal);
    this.#readAt = now();
    const isSame = pages.length === former.length && pages.every((page, index) => page === former[index]);
    this.#have(pages);
    if (!isSame) await this.#keep(pages);
    return pages;
  }

  #load(): Promise<Page[] | undefined> {
    const { kept, name, source, quota } = this.#options;
    this.#loading ??= quota
      .load(AbortSignal.timeout(READ_DEADLINE), async () => {
        const pages = await kept.load(name, source);
        if (pages) this.#have(pages);
        return pages;
      })
      .finally(() => (this.#loading = undefined));
    return this.#loading;
  }

  /** The weight counts twice because the cached answer holds the pages as text, too. */
  #have(pages: Page[]): void {
    if (this.#isDropped) return;
    this.#pages = pages;
    this.#options.quota.memory.set(this, 2 * weightOfPages(pages), () => {
      this.#pages = undefined;
      this.#options.onEvict();
    });
  }

  async #keep(pages: readonly Page[]): Promise<void> {
    if (this.#isDropped) return;
    const { kept, name, source, onProblem } = this.#options;
    await kept
      .save(name, source, pages)
      .catch((error: unknown) => onProblem(`registry ${source}: its copy is not kept: ${reasonOf(error)}`));
  }
}

export function reasonOf(error: unknown): string {
  if (error instanceof FetchFailure) return error.message;
  return error instanceof Error ? error.message : String(error);
}

async function settledWithin(work: Promise<unknown>, milliseconds: number): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const limit = new Promise<void>((resolve) => (timer = setTimeout(resolve, milliseconds)));
  try {
    await Promise.race([work.then(() => undefined).catch(() => undefined), limit]);
  } finally {
    clearTimeout(timer);
  }
}
