import { endQuestion, noteQuestion } from './client-questions.ts';
import { cancelInFlight, expectCancelled, noteSentElsewhere } from './in-flight.ts';
import type { Session } from './session.ts';

/** An event about the calls of a session that other replicas need. */
export type CallEvent =
  /** The client cancelled a request; `id` is JSON text. The replica that received the cancellation forwards it to the backends. */
  | { readonly type: 'cancelled'; readonly id: string }
  /** A replica sent a request with a progress token; `id` and `progressToken` are JSON texts. */
  | { readonly type: 'sent'; readonly id: string; readonly backend: string; readonly progressToken: string }
  /** A backend sent the client a request on the session's own stream. `id`: as the client knows it. */
  | { readonly type: 'asked'; readonly id: string; readonly backend: string }
  /**
   * The client has answered, or the backend has cancelled its request. `body`: the JSON text of an answer that did not reach the
   * backend, with the id that the channel knows.
   */
  | { readonly type: 'answered'; readonly id: string; readonly body?: string };

/** Applies an event of another replica to a session. `now`: milliseconds of the monotonic clock. */
export function takeCallEvent(session: Session | undefined, event: CallEvent, now: number): void {
  if (!session) return;
  if (event.type === 'answered') takeAnswer(session, event.id, event.body);
  else if (event.type === 'sent') noteSentElsewhere(session, event.id, event);
  else if (event.type === 'asked') noteQuestion(session, event.id, { backend: event.backend, call: undefined });
  else if (!cancelInFlight(session, event.id)) expectCancelled(session, event.id, now);
}

function takeAnswer(session: Session, id: string, body: string | undefined): void {
  if (body !== undefined) session.questions?.get(id)?.answer?.(Buffer.from(body));
  endQuestion(session, id);
}
