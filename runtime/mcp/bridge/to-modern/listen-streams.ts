import { randomUUID } from 'node:crypto';
import type { ListenStream } from './listen-stream.ts';
import type { WatchEvent } from './watch-event.ts';

/** Milliseconds in which the replica with the stream of a session replies. */
const TAKEN_WITHIN = 250;
/** Milliseconds in which it gets an acknowledgement. */
const SETTLED_WITHIN = 60_000;

interface Asked {
  readonly settle: (isWatched: boolean | undefined) => void;
  timer: NodeJS.Timeout;
}

/** The other replicas of one server. */
interface WatchSharing {
  /** Whether they serve the same sessions. */
  readonly isShared: boolean;
  tell(event: WatchEvent): void;
}

const ALONE: WatchSharing = { isShared: false, tell: () => undefined };

/** The streams of bridged sessions. Each session has its stream at one replica, which renews its subscriptions there. */
export class ListenStreams {
  readonly #sharing: () => WatchSharing;
  /** By the id of the backend session. */
  readonly #streams = new Map<string, ListenStream>();
  readonly #asked = new Map<string, Asked>();

  constructor(sharing: () => WatchSharing = () => ALONE) {
    this.#sharing = sharing;
  }

  add(session: string, stream: ListenStream): void {
    this.#streams.set(session, stream);
  }

  remove(session: string, stream: ListenStream): void {
    if (this.#streams.get(session) === stream) this.#streams.delete(session);
  }

  /** Resolves to whether the backend acknowledged the URI. Undefined: the session has no stream. */
  async renew(session: string, uri: string): Promise<boolean | undefined> {
    const stream = this.#streams.get(session);
    if (stream) return (await stream.renew(uri))?.has(uri) === true;
    const sharing = this.#sharing();
    if (!sharing.isShared) return undefined;
    const watch = randomUUID();
    return new Promise((settle) => {
      this.#asked.set(watch, { settle, timer: this.#forgetAfter(watch, TAKEN_WITHIN) });
      sharing.tell({ type: 'watch', watch, session, uri });
    });
  }

  /** Takes an event of another replica. */
  take(event: WatchEvent): void {
    if (event.type === 'watch') {
      void this.#renewFor(event);
      return;
    }
    const asked = this.#asked.get(event.watch);
    if (!asked) return;
    clearTimeout(asked.timer);
    if (event.type === 'watch_taken') asked.timer = this.#forgetAfter(event.watch, SETTLED_WITHIN);
    else this.#settle(event.watch, event.isWatched);
  }

  async #renewFor({ watch, session, uri }: Extract<WatchEvent, { type: 'watch' }>): Promise<void> {
    const stream = this.#streams.get(session);
    if (!stream) return;
    const sharing = this.#sharing();
    sharing.tell({ type: 'watch_taken', watch });
    const uris = await stream.renew(uri);
    sharing.tell({ type: 'watch_settled', watch, isWatched: uris?.has(uri) === true });
  }

  #forgetAfter(watch: string, milliseconds: number): NodeJS.Timeout {
    return setTimeout(() => this.#settle(watch, undefined), milliseconds).unref();
  }

  #settle(watch: string, isWatched: boolean | undefined): void {
    this.#asked.get(watch)?.settle(isWatched);
    this.#asked.delete(watch);
  }
}
