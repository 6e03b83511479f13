import type { Session, InFlightCall, SentCall } from './session.ts';

/** Entries that outlive the connection of their request. */
const MAX_KEPT = 1_000;
/** Requests of one session that other replicas sent. */
const MAX_ELSEWHERE = 100;
/** Characters of an id or a progress token that is kept. Ids of real clients are numbers or UUIDs. */
export const LONGEST_KEPT = 128;
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
  else inFlight.set(idText, { ...sentPartOf(call), isResumable: true, cancel: () => undefined });
}

// A copy, as a call in flight holds much more.
function sentPartOf({ backend, progressToken }: SentCall): SentCall {
  return { backend, progressToken: progressToken && progressToken.length > LONGEST_KEPT ? null : progressToken };
}

/** Remembers a request that another replica sent. A newer request replaces one with the same token, or the oldest. */
export function noteSentElsewhere(session: Session, idText: string, call: SentCall): void {
  const sent = (session.sentElsewhere ??= new Map<string, SentCall>());
  for (const [id, { progressToken }] of sent) if (progressToken === call.progressToken) sent.delete(id);
  const [oldest] = sent.keys();
  if (oldest !== undefined && sent.size >= MAX_ELSEWHERE) sent.delete(oldest);
  sent.set(idText, sentPartOf(call));
  session.earlyReports?.forEach((look) => look());
}

/** Returns a request that this replica or another one sent to the backend. */
export function sentCallOf(session: Session, backend: string, idText: string): SentCall | undefined {
  const call = session.inFlight?.get(idText) ?? session.sentElsewhere?.get(idText);
  return call?.backend === backend ? sentPartOf(call) : undefined;
}

/** Returns the requests of a session that may be unanswered. */
export function sentCalls({ inFlight, sentElsewhere }: Session): SentCall[] {
  return [...(inFlight?.values() ?? []), ...(sentElsewhere?.values() ?? [])];
}

/** Returns the requests with this progress token. Those of other replicas count only without one here: their ends are not known. */
export function ownersOf({ inFlight, sentElsewhere }: Session, token: string): SentCall[] {
  const ownersIn = (calls: Map<string, SentCall> | undefined) =>
    [...(calls?.values() ?? [])].filter(({ progressToken }) => progressToken === token);
  const here = ownersIn(inFlight);
  return here.length > 0 ? here : ownersIn(sentElsewhere);
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
