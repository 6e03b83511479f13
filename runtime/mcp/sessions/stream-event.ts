import type { ReplicaEvent } from './replica-events.ts';
import type { Session, SessionStream } from './session.ts';

/** Tells the other replicas which stream a client opened last. An event that cannot be published is published again. */
export class StreamEventPublisher {
  readonly #publish: (event: ReplicaEvent) => Promise<boolean>;
  /** Sessions whose event could not be published, with the names of their records. */
  readonly #untold = new Map<Session, string>();

  /** `publish` returns whether the event was published. */
  constructor(publish: (event: ReplicaEvent) => Promise<boolean>) {
    this.#publish = publish;
  }

  async tell(session: Session, key: string): Promise<void> {
    const { stream } = session;
    if (!stream) return;
    stream.isTold = false;
    if (await this.#publish({ type: 'stream', key, stream: stream.id })) return;
    // The event of another stream that arrives from now on is later than the lost one.
    stream.isTold = true;
    if (session.stream === stream) this.#untold.set(session, key);
  }

  /** Publishes the events that could not be published before. */
  async tellAgain(): Promise<void> {
    const untold = [...this.#untold];
    this.#untold.clear();
    await Promise.all(untold.map(([session, key]) => this.tell(session, key)));
  }
}

/**
 * Handles the event that a client opened the stream `id`. All replicas receive the events of a session in the same order, and the last
 * stream stays: an own stream whose event is outstanding is later than `id`.
 */
export function takeStreamEvent(own: Pick<SessionStream, 'id' | 'isTold' | 'close'> | undefined, id: string): void {
  if (own?.id === id) own.isTold = true;
  else if (own?.isTold === true) own.close();
}
