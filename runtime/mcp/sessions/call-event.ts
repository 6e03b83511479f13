import { endQuestion, noteQuestion } from './client-questions.ts';
import { cancelInFlight, expectCancelled, noteSentElsewhere } from './in-flight.ts';
import type { Session } from './session.ts';

export type CallEvent =
  /** `id` is JSON text. The replica that received the cancellation forwards it to the backends. */
  | { readonly type: 'cancelled'; readonly id: string }
  /** Only for a request with a progress token; both texts are JSON. */
  | { readonly type: 'sent'; readonly id: string; readonly backend: string; readonly progressToken: string }
  /** On the session's own stream. `id`: as the client knows it. */
  | { readonly type: 'asked'; readonly id: string; readonly backend: string }
  /** The client answered, or the backend cancelled. `body`: JSON text that did not reach the backend, with the channel's id. */
  | { readonly type: 'answered'; readonly id: string; readonly body?: string };

/** `now`: milliseconds of the monotonic clock. */
export function takeCallEvent(session: Session | undefined, event: CallEvent, now: number): void {
  if (!session) return;
  if (event.type === 'answered') takeAnswer(session, event.id, event.body);
  else if (event.type === 'sent') noteSentElsewhere(session, event.id, event);
  else if (event.type === 'asked') noteQuestion(session, event.id, { backend: event.backend, call: undefined });
  else if (!cancelInFlight(session, event.id)) expectCancelled(session, event.id, now);
}

function takeAnswer(session: Session, id: string, body: string | undefined): void {
  if (body !== undefined) void session.questions?.get(id)?.answer?.(Buffer.from(body));
  endQuestion(session, id);
}
