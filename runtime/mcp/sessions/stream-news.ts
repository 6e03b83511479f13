import type { SessionStream } from './session.ts';

/**
 * Handles the event that a client opened the stream `id`. All replicas receive the events of a session in the same order, and the last
 * stream stays: an own stream whose event is outstanding is later than `id`.
 */
export function takeStreamNews(own: Pick<SessionStream, 'id' | 'isTold' | 'close'> | undefined, id: string): void {
  if (own?.id === id) own.isTold = true;
  else if (own?.isTold === true) own.close();
}
