import type { Session, InFlightCall, SentCall } from './session.ts';

const MAX_KEPT = 1_000;
const MAX_ELSEWHERE = 100;
/** Characters of a kept id or progress token. Real clients use numbers or UUIDs. */
export const LONGEST_KEPT = 128;
/** Milliseconds in which a request may arrive after its cancellation, which uses another connection. */
const LATE_REQUEST = 2_000;

/** Returns false if the request was already cancelled. */
export function enterCall(session: Session, idText: string, call: InFlightCall): boolean {
  (session.inFlight ??= new Map()).set(idText, call);
  const lateUntil = session.cancelled?.get(idText);
  if (lateUntil === undefined) return true;
  session.cancelled?.delete(idText);
  return session.lastUsed > lateUntil;
}

/** Keeps the entry if the id is used again. */
export function leaveCall(session: Session, idText: string, call: InFlightCall): void {
  const { inFlight } = session;
  if (inFlight?.get(idText) !== call) return;
  inFlight.delete(idText);
  if (inFlight.size === 0) session.inFlight = undefined;
}

/** Keeps a request whose client left: the client may resume or cancel it. */
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

/** A newer request replaces one with the same token, or the oldest. */
export function noteSentElsewhere(session: Session, idText: string, call: SentCall): void {
  const sent = (session.sentElsewhere ??= new Map<string, SentCall>());
  for (const [id, { progressToken }] of sent) if (progressToken === call.progressToken) sent.delete(id);
  const [oldest] = sent.keys();
  if (oldest !== undefined && sent.size >= MAX_ELSEWHERE) sent.delete(oldest);
  sent.set(idText, sentPartOf(call));
  session.earlyReports?.forEach((look) => look());
}

export function sentCallOf(session: Session, backend: string, idText: string): SentCall | undefined {
  const call = session.inFlight?.get(idText) ?? session.sentElsewhere?.get(idText);
  return call?.backend === backend ? sentPartOf(call) : undefined;
}

export function sentCalls({ inFlight, sentElsewhere }: Session): SentCall[] {
  return [...(inFlight?.values() ?? []), ...(sentElsewhere?.values() ?? [])];
}

/** Those of other replicas count only without one here: their ends are not known. */
export function ownersOf({ inFlight, sentElsewhere }: Session, token: string): SentCall[] {
  const ownersIn = (calls: Map<string, SentCall> | undefined) =>
    [...(calls?.values() ?? [])].filter(({ progressToken }) => progressToken === token);
  const here = ownersIn(inFlight);
  return here.length > 0 ? here : ownersIn(sentElsewhere);
}

/** Returns false if the request is not in flight here. */
export function cancelInFlight(session: Session, idText: string): boolean {
  const call = session.inFlight?.get(idText);
  if (!call) return false;
  if (call.isResumable) rememberCancelled(session, idText, -1);
  call.cancel();
  leaveCall(session, idText, call);
  return true;
}

/** The request is not known here yet. `now`: the time of arrival, in the time of `lastUsed`. */
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
