import type { ReplicaEvent } from './replica-events.ts';
import type { Session, SessionStream } from './session.ts';

/** Tells the other replicas which stream a client opened last. An event that cannot be published is published again. */
export class StreamEventPublisher {
  readonly #publish: (event: ReplicaEvent) => Promise<boolean>;
  readonly #untold = new Map<Session, string>();

  constructor(publish: (event: ReplicaEvent) => Promise<boolean>) {
    this.#publish = publish;
  }

  async tell(session: Session, key: string): Promise<void> {
    const { stream } = session;
    if (!stream) return;
    stream.isTold = false;
    if (await this.#publish({ type: 'stream', key, stream: stream.id })) return;
    // An event that arrives from now on is later than the lost one.
    stream.isTold = true;
    if (session.stream === stream) this.#untold.set(session, key);
  }

  async tellAgain(): Promise<void> {
    const untold = [...this.#untold];
    this.#untold.clear();
    await Promise.all(untold.map(([session, key]) => this.tell(session, key)));
  }
}

/** All replicas receive events in the same order, and the last stream stays: an own stream whose event is outstanding is later. */
export function takeStreamEvent(own: Pick<SessionStream, 'id' | 'isTold' | 'close'> | undefined, id: string): void {
  if (own?.id === id) own.isTold = true;
  else if (own?.isTold === true) own.close();
}
