import type { Identity } from '#runtime/incoming/identity';
import type { Rooms } from '#runtime/rooms';
import type { DecodedNotification } from '../envelope/decode-request.ts';
import { idTextOf } from '../envelope/message-id.ts';
import { cancelInFlight, expectCancelled } from '../sessions/in-flight.ts';
import { notify } from '../sessions/open-leg.ts';
import { legOf, type Leg, type Session } from '../sessions/session.ts';

/** Ends the request that a client's notifications/cancelled names. Informs the backend, but does not wait for it. */
export function cancelCall(
  message: DecodedNotification,
  body: Buffer,
  session: Session,
  identity: Identity,
  rooms: Rooms,
): void {
  const id = message.params?.requestId;
  const idText = idTextOf(id, String(id));
  if (idText === undefined) return;
  const tell = (leg: Leg) => void notify(leg, leg.at, identity, rooms.config.limits.list_deadline, body);
  const call = session.inFlight?.get(idText);
  if (call) {
    const leg = legOf(session, call.backend);
    // Sent before the stream is closed: otherwise a server may take the closed stream for a lost connection.
    if (leg) tell(leg);
    cancelInFlight(session, idText);
    // Another replica may have resumed its stream.
    if (call.isResumable) rooms.sessions.tellOfCall(session, { type: 'cancelled', id: idText });
    return;
  }
  if (stopBefore(session, idText, rooms)) return;
  expectCancelled(session, idText, session.lastUsed);
  if (!rooms.sessions.isShared) return;
  // Another replica may have sent the request, to any backend.
  session.legs.forEach(tell);
  rooms.sessions.tellOfCall(session, { type: 'cancelled', id: idText });
}

/** Tells the backend that the gateway has given up a request. */
export function tellGivenUp(
  leg: Leg,
  { identity, rooms, message }: { identity: Identity; rooms: Rooms; message: { readonly idText: string } },
): void {
  const params = `{"requestId":${message.idText},"reason":"timeout"}`;
  const body = Buffer.from(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":${params}}`);
  void notify(leg, leg.at, identity, rooms.config.limits.list_deadline, body);
}

/** Cancels a request that has not been sent to its backend yet. */
function stopBefore(session: Session, idText: string, rooms: Rooms): boolean {
  for (const trail of rooms.running.all()) {
    if (trail.session !== session.logId || trail.rpcId !== idText) continue;
    trail.isCancelled = true;
    return true;
  }
  return false;
}
