import type { Identity } from '#runtime/incoming/identity';
import type { Services } from '#runtime/services';
import type { DecodedNotification } from '../envelope/decode-request.ts';
import { idTextOf } from '../envelope/message-id.ts';
import { cancelInFlight, expectCancelled } from '../sessions/in-flight.ts';
import { notify } from '../sessions/open-backend-session.ts';
import { backendSessionOf, type BackendSession, type Session } from '../sessions/session.ts';

/** Informs the backend, but does not wait for it. */
export function cancelCall(
  message: DecodedNotification,
  body: Buffer,
  session: Session,
  identity: Identity,
  services: Services,
): void {
  const id = message.params?.requestId;
  const idText = idTextOf(id, String(id));
  if (idText === undefined) return;
  const tell = (backendSession: BackendSession) =>
    void notify(backendSession, backendSession.at, identity, services.config.limits.list_deadline, body);
  const call = session.inFlight?.get(idText);
  if (call) {
    const backendSession = backendSessionOf(session, call.backend);
    // A server may take a stream that closes first for a lost connection.
    if (backendSession) tell(backendSession);
    cancelInFlight(session, idText);
    // Another replica may have resumed its stream.
    if (call.isResumable) services.sessions.tellOfCall(session, { type: 'cancelled', id: idText });
    return;
  }
  if (stopBefore(session, idText, services)) return;
  expectCancelled(session, idText, session.lastUsed);
  if (!services.sessions.isShared) return;
  // Another replica may have sent the request, to any backend.
  session.backendSessions.forEach(tell);
  services.sessions.tellOfCall(session, { type: 'cancelled', id: idText });
}

export function tellGivenUp(
  backendSession: BackendSession,
  { identity, services, message }: { identity: Identity; services: Services; message: { readonly idText: string } },
): void {
  const params = `{"requestId":${message.idText},"reason":"timeout"}`;
  const body = Buffer.from(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":${params}}`);
  void notify(backendSession, backendSession.at, identity, services.config.limits.list_deadline, body);
}

function stopBefore(session: Session, idText: string, services: Services): boolean {
  for (const requestRecord of services.running.all()) {
    if (requestRecord.session !== session.logId || requestRecord.rpcId !== idText) continue;
    requestRecord.isCancelled = true;
    return true;
  }
  return false;
}
