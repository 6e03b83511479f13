import type { Session, InFlightCall } from './session.ts';

/** Entries that outlive the connection of their request. */
const MAX_KEPT = 1_000;
/** Characters of an id that is kept. Ids of real clients are numbers or UUIDs. */
const LONGEST_KEPT = 128;
/** Milliseconds in which a request may arrive after its own cancellation, which the client sends on another connection. */
const LATE_REQUEST = 2_000;

/** Registers a request. Returns false if its cancellation arrived first. */
export function enterCall(session: Session, idText: string, call: InFlightCall): boolean {
  (session.inFlight ??= new Map()).set(idText, call);
  const lateUntil = session.cancelled?.get(idText);
  if (lateUntil === undefined) return true;
  session.cancelled?.delete(idText);
  return session.lastUsed > lateUntil;
}

/** Removes an answered request, unless its id is used again. */
export function leaveCall(session: Session, idText: string, call: InFlightCall): void {
  const { inFlight } = session;
  if (inFlight?.get(idText) !== call) return;
  inFlight.delete(idText);
  if (inFlight.size === 0) session.inFlight = undefined;
}

/** Keeps the backend of a request whose client left: the client may resume or cancel it. */
export function keepCall(session: Session, idText: string, call: InFlightCall): void {
  const { inFlight } = session;
  if (inFlight?.get(idText) !== call) return;
  if (inFlight.size > MAX_KEPT || idText.length > LONGEST_KEPT) leaveCall(session, idText, call);
  else inFlight.set(idText, { backend: call.backend, isResumable: true, cancel: () => undefined });
}

/** Ends a request that its client has cancelled. Returns false if it is not in flight here. */
export function cancelInFlight(session: Session, idText: string): boolean {
  const call = session.inFlight?.get(idText);
  if (!call) return false;
  if (call.isResumable) rememberCancelled(session, idText, -1);
  call.cancel();
  leaveCall(session, idText, call);
  return true;
}

/** Records the cancellation of a request that is not known here yet. `now`: the time of arrival, in the time of `lastUsed`. */
export function expectCancelled(session: Session, idText: string, now: number): void {
  rememberCancelled(session, idText, now + LATE_REQUEST);
}

function rememberCancelled(session: Session, idText: string, lateUntil: number): void {
  if (idText.length > LONGEST_KEPT) return;
  const cancelled = (session.cancelled ??= new Map());
  const [oldest] = cancelled.keys();
  if (oldest !== undefined && cancelled.size >= MAX_KEPT) cancelled.delete(oldest);
  cancelled.set(idText, lateUntil);
}
