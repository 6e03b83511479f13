import { statSync } from 'node:fs';
import { z } from 'zod';
import { text } from '#crds/parts/primitives';
import { STORED_SECRET } from '#crds/parts/defaults';
import type { Clock } from '#operator/queue';
import type { Manifest } from '#operator/snapshot';
import type { Problem } from './resource.ts';

export interface SecretsSource {
  /** The content of these files changes with each secret. */
  files: readonly string[];
  /** Calls `changed` after each change made by this process. Returns a function that ends the subscription. */
  listen(changed: () => void): () => void;
  /** Returns only existing keys. May throw an Error whose message is public. */
  read(namespace: string, keys: readonly string[]): Promise<Map<string, string>>;
}

/** Milliseconds between two checks of the files, because other processes write them, too. */
const LOOK = 1000;
/** Milliseconds until a failed read is repeated. */
const RETRY = 30_000;

type Values = Map<string, Record<string, string>>;

/** Groups keys by namespace. Other values are never read. */
function keysNamedBy(manifests: readonly Manifest[]): Map<string, Set<string>> {
  const named = new Map<string, Set<string>>();
  for (const { metadata, spec } of manifests) {
    const keys = named.get(metadata.namespace) ?? new Set();
    collectKeys(spec, keys);
    if (keys.size > 0) named.set(metadata.namespace, keys);
  }
  return named;
}

const Reference = z.object({ name: z.literal(STORED_SECRET), key: text(253) });

function collectKeys(value: unknown, keys: Set<string>): void {
  if (typeof value !== 'object' || value === null) return;
  const { data } = Reference.safeParse(value);
  if (data) keys.add(data.key);
  for (const inside of Object.values(value)) collectKeys(inside, keys);
}

/** Values of the stored secrets that manifests name, from the last successful read. */
export class StoredSecrets {
  readonly #source: SecretsSource;
  readonly #clock: Clock;
  #values: Values = new Map();
  #problem: Problem | undefined;
  #wanted: readonly Manifest[] = [];
  #reading: Promise<unknown> = Promise.resolve();
  /** The next read has not begun; calls made now share it. */
  #next: Promise<boolean> | undefined;
  #stop: () => void = () => undefined;
  #cancelRetry: (() => void) | undefined;
  #retry: () => void = () => undefined;

  constructor(source: SecretsSource, clock: Clock) {
    this.#source = source;
    this.#clock = clock;
  }

  /** Maps `<namespace>/<Secret name>` to values by key. */
  get values(): ReadonlyMap<string, Record<string, string>> {
    return this.#values;
  }

  get problems(): Problem[] {
    return this.#problem ? [this.#problem] : [];
  }

  /** Runs one read at a time. Returns whether values or problems changed. */
  load(manifests: readonly Manifest[]): Promise<boolean> {
    this.#wanted = manifests;
    this.#next ??= this.#reading.then(() => {
      this.#next = undefined;
      return this.#load(this.#wanted);
    });
    this.#reading = this.#next;
    return this.#next;
  }

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
