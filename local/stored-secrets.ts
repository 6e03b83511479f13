import { statSync } from 'node:fs';
import { z } from 'zod';
import { STORED_SECRET } from '#crds/parts/stored-secret';
import type { Clock } from '#operator/queue';
import type { Manifest } from '#operator/world';
import type { Problem } from './resource.ts';

/** Where the values of stored secrets come from: what the management API writes. */
export interface SecretsSource {
  /** Files that differ when a secret does. */
  files: readonly string[];
  /** Calls after each change that this process made. Returns the function that ends it. */
  listen(changed: () => void): () => void;
  /** Values of those keys that are there. May throw an Error whose message is public. */
  read(namespace: string, keys: readonly string[]): Promise<Map<string, string>>;
}

/** Other processes write, too: the files are looked at so often. Milliseconds. */
const LOOK = 1000;
/** Milliseconds after which what could not be read is read again. */
const RETRY = 30_000;

type Values = Map<string, Record<string, string>>;

/** Keys of the stored secret that manifests name, by namespace. No other value is read. */
function keysNamedBy(manifests: readonly Manifest[]): Map<string, Set<string>> {
  const named = new Map<string, Set<string>>();
  for (const { metadata, spec } of manifests) {
    const keys = named.get(metadata.namespace) ?? new Set();
    collectKeys(spec, keys);
    if (keys.size > 0) named.set(metadata.namespace, keys);
  }
  return named;
}

const Reference = z.object({ name: z.literal(STORED_SECRET), key: z.string().min(1).max(253) });

function collectKeys(value: unknown, keys: Set<string>): void {
  if (typeof value !== 'object' || value === null) return;
  const { data } = Reference.safeParse(value);
  if (data) keys.add(data.key);
  for (const inside of Object.values(value)) collectKeys(inside, keys);
}

/** Values of the stored secrets that manifests name, as they were when they could last be read. */
export class StoredSecrets {
  readonly #source: SecretsSource;
  readonly #clock: Clock;
  #values: Values = new Map();
  #problem: Problem | undefined;
  #wanted: readonly Manifest[] = [];
  #reading: Promise<unknown> = Promise.resolve();
  /** The reading that has not begun yet: who comes now waits for it, too. */
  #next: Promise<boolean> | undefined;
  #stop: () => void = () => undefined;
  #cancelRetry: (() => void) | undefined;
  #retry: () => void = () => undefined;

  constructor(source: SecretsSource, clock: Clock) {
    this.#source = source;
    this.#clock = clock;
  }

  /** `<namespace>/<name of the Secret>` to key to value. */
  get values(): ReadonlyMap<string, Record<string, string>> {
    return this.#values;
  }

  get problems(): Problem[] {
    return this.#problem ? [this.#problem] : [];
  }

  /** Reads what these manifests name, one reading at a time. Whether values or problems are others now. */
  load(manifests: readonly Manifest[]): Promise<boolean> {
    this.#wanted = manifests;
    this.#next ??= this.#reading.then(() => {
      this.#next = undefined;
      return this.#load(this.#wanted);
    });
    this.#reading = this.#next;
    return this.#next;
  }

  /** Calls when there may be something new to load. */
  watch(changed: () => void): void {
    this.#retry = changed;
    const endListening = this.#source.listen(changed);
    let seen = signatureOf(this.#source.files);
    let cancelLook: () => void = () => undefined;
    const look = (): void => {
      cancelLook = this.#clock.after(LOOK, () => {
        const now = signatureOf(this.#source.files);
        if (now !== seen) changed();
        seen = now;
        look();
      });
    };
    look();
    this.#stop = () => {
      endListening();
      cancelLook();
    };
  }

  close(): void {
    this.#stop();
    this.#retry = () => undefined;
    this.#cancelRetry?.();
  }

  async #load(manifests: readonly Manifest[]): Promise<boolean> {
    const before = this.#text();
    this.#cancelRetry?.();
    try {
      this.#values = await this.#read(keysNamedBy(manifests));
      this.#problem = undefined;
    } catch (problem) {
      const [file = ''] = this.#source.files;
      const message = problem instanceof Error ? problem.message : String(problem);
      this.#problem = { file, line: 1, path: '', message: `stored secrets cannot be read: ${message}` };
      this.#cancelRetry = this.#clock.after(RETRY, () => this.#retry());
    }
    return this.#text() !== before;
  }

  async #read(named: Map<string, Set<string>>): Promise<Values> {
    const values: Values = new Map();
    for (const [namespace, keys] of named) {
      const read = await this.#source.read(namespace, [...keys]);
      if (read.size > 0) values.set(`${namespace}/${STORED_SECRET}`, Object.fromEntries(read));
    }
    return values;
  }

  #text(): string {
    return JSON.stringify([[...this.#values], this.#problem]);
  }
}

function signatureOf(files: readonly string[]): string {
  return files
    .map((file) => {
      try {
        const { size, mtimeMs, ino } = statSync(file);
        return `${size} ${mtimeMs} ${ino}`;
      } catch {
        return '-';
      }
    })
    .join('\n');
}
