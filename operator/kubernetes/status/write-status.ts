import type { Status } from '#crds/kinds/status';
import type { Log } from '#lib/log/log';
import type { Clock } from '#operator/queue';
import type { Manifest, ResourceKey } from '#operator/snapshot';
import { type ApiError, isStatus } from '../api/api-error.ts';
import type { KubeApi } from '../api/api.ts';
import { canonicalText } from '../apply/compare-objects.ts';
import type { KubeObject } from '../api/object.ts';
import { FIELD_MANAGER, ownResource } from '../api/resources.ts';
import { TransitionTeller } from './tell-transitions.ts';

/** Milliseconds between two writes of one status, to limit updates of back-references in a busy group. */
const BETWEEN_WRITES = 1000;

interface StatusWriterOptions {
  api: KubeApi;
  apiGroup: string;
  clock: Clock;
  log: Log;
  /** Name of this process in Events. */
  instance: string;
  wrote: (object: KubeObject) => void;
  /** Called after a delayed write failed, to retry it. */
  failed: (manifest: Manifest, problem: unknown) => void;
}

interface Written {
  uid: string;
  /** Time of the last write, milliseconds since the epoch. */
  at: number;
  /** The last written status that the API server stored differently. */
  settled: string | undefined;
  refused: string | undefined;
  pending: { cancel: () => void } | undefined;
}

/** The only writer of statuses. Writes differences, at most once a second per object, and reports transitions as Events. */
export class StatusWriter {
  readonly #options: StatusWriterOptions;
  readonly #teller: TransitionTeller;
  readonly #written = new Map<string, Written>();

  constructor(options: StatusWriterOptions) {
    this.#options = options;
    this.#teller = new TransitionTeller(options);
  }

  /** `manifest` is the object with the current status. Resolves at once if the write is delayed. */
  async write(manifest: Manifest, status: Status): Promise<void> {
    const entry = this.#entryOf(manifest);
    entry.pending?.cancel();
    entry.pending = undefined;
    if (this.#stands(manifest, status, entry)) return;
    const wait = entry.at + BETWEEN_WRITES - this.#options.clock.now();
    if (wait <= 0) {
      await this.#writeNow(manifest, status, entry);
      return;
    }
    const cancel = this.#options.clock.after(wait, () => {
      entry.pending = undefined;
      this.#writeNow(manifest, status, entry).catch((problem: unknown) => this.#options.failed(manifest, problem));
    });
    entry.pending = { cancel };
  }

  forget(resource: ResourceKey): void {
    this.#teller.forget(resource);
    const { kind, namespace, name } = resource;
    const key = `${kind}/${namespace}/${name}`;
    this.#written.get(key)?.pending?.cancel();
    this.#written.delete(key);
  }

  close(): void {
    for (const { pending } of this.#written.values()) pending?.cancel();
    this.#written.clear();
    this.#teller.close();
  }

  #entryOf({ kind, metadata: { namespace, name, uid = '' } }: Manifest): Written {
    const key = `${kind}/${namespace}/${name}`;
    const known = this.#written.get(key);
    if (known?.uid === uid) return known;
    known?.pending?.cancel();
    const entry: Written = {
      uid,
      at: 0,
      settled: undefined,
      refused: undefined,
      pending: undefined,
    };
    this.#written.set(key, entry);
    return entry;
  }

  #stands(manifest: Manifest, status: Status, { settled }: Written): boolean {
    const text = canonicalText(status);
    return canonicalText(manifest.status) === text || settled === `${text} ${canonicalText(manifest.status)}`;
  }

  async #writeNow(manifest: Manifest, status: Status, entry: Written): Promise<void> {
    const { api, apiGroup, clock, wrote } = this.#options;
    const { apiVersion, kind, metadata } = manifest;
    const { namespace, name, uid } = metadata;
    entry.at = clock.now();
    const object = { apiVersion, kind, metadata: { namespace, name, ...(uid !== undefined && { uid }) }, status };
    const before = (manifest.status as Status | undefined)?.conditions;
    try {
      const answer = await api.apply(ownResource(kind, apiGroup), object, {
        fieldManager: FIELD_MANAGER,
        force: true,
        subresource: 'status',
      });
      const kept = canonicalText(answer.status);
      entry.settled = kept === canonicalText(status) ? undefined : `${canonicalText(status)} ${kept}`;
      wrote(answer);
    } catch (problem) {
      // The object has been deleted, or replaced by one of the same name.
      if (isStatus(problem, 404, 409)) return;
      const text = canonicalText(status);
      if (isStatus(problem, 422) && !isOfAnother(problem) && entry.refused !== text) {
        // Older API servers refuse the status of an object that violates newer rules. An Event is the only way left to report it.
        entry.refused = text;
        await this.#teller.tell(manifest, before, status.conditions);
      }
      throw problem;
    }
    await this.#teller.tell(manifest, before, status.conditions);
  }
}

const isOfAnother = ({ causes }: ApiError) => causes.some(({ field }) => field === 'metadata.uid');
