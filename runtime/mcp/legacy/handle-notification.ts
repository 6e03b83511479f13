import type { Identity } from '#runtime/incoming/identity';
import { readMintedId } from '#runtime/mcp/envelope/mint-request-id';
import { PROGRESS } from '#runtime/mcp/envelope/progress-token';
import type { Services } from '#runtime/services';
import type { Backend } from '../backends/backend.ts';
import type { DecodedNotification, DecodedResponse } from '../envelope/decode-request.ts';
import { splice } from '../envelope/splice.ts';
import { invalidRequest } from '../route/refusals.ts';
import { endQuestion } from '../sessions/client-questions.ts';
import { notify, sendInitialized, toldSoon } from '../sessions/open-backend-session.ts';
import { INITIALIZED } from '../sessions/session-record.ts';
import { backendSessionOf, type BackendSession, type Session } from '../sessions/session.ts';
import { cancelCall } from './cancel-call.ts';

export async function handleNotification(
  message: DecodedNotification,
  body: Buffer,
  session: Session,
  identity: Identity,
  services: Services,
): Promise<void> {
  const deadline = services.config.limits.list_deadline;
  const toAll = async (send: (backendSession: BackendSession) => Promise<unknown>): Promise<void> => {
    await toldSoon(session.backendSessions.map(send));
  };
  if (message.method === 'notifications/initialized') {
    session.initialized = true;
    await services.sessions.remember(session, INITIALIZED);
    await toAll(async (backendSession) => {
      const backend = services.backends.get(backendSession.backend);
      if (backend) await sendInitialized(backendSession, backend, identity, deadline);
    });
    return;
  }
  if (message.method === 'notifications/cancelled') {
    cancelCall(message, body, session, identity, services);
    return;
  }
  if (message.method === PROGRESS) {
    const report = readReport(message, body);
    const backend = report && services.backends.get(report.backend);
    const backendSession = report && backendSessionOf(session, report.backend);
    if (backend && backendSession) await toldSoon([notify(backendSession, backend, identity, deadline, report.body)]);
    return;
  }
  await toAll(async (backendSession) => {
    const backend = services.backends.get(backendSession.backend);
    if (backend) await notify(backendSession, backend, identity, deadline, body);
  });
}

/** Restores the token of the backend whose request the report serves. Undefined: the token is of no backend. */
function readReport(
  { params, spans }: DecodedNotification,
  body: Buffer,
): { backend: string; body: Buffer } | undefined {
  const token = params?.progressToken;
  const minted = typeof token === 'string' ? readMintedId(token) : undefined;
  const span = spans['params.progressToken'];
  return minted && span && { backend: minted.backend, body: splice(body, [{ ...span, text: minted.idText }]) };
}

/** @throws RequestError 400 for an answer without a request */
export async function handleResponse(
  message: DecodedResponse,
  body: Buffer,
  session: Session,
  identity: Identity,
  services: Services,
): Promise<void> {
  const minted = readMintedId(message.id);
  const backend = minted && services.backends.get(minted.backend);
  const backendSession = minted && backendSessionOf(session, minted.backend);
  const span = message.spans.id;
  const mayBeOfOther = backend !== undefined && mayAskElsewhere(backend, services);
  if (!minted || !backend || !span || !(backendSession || mayBeOfOther))
    throw invalidRequest(400, 'unknown_request', 'No backend asked this');
  const answer = splice(body, [{ ...span, text: minted.idText }]);
  const isTaken = backendSession
    ? await notify(backendSession, backend, identity, services.config.limits.list_deadline, answer)
    : false;
  const id = String(message.id);
  endQuestion(session, id);
  const passed = !isTaken && mayBeOfOther && { body: answer.toString('utf8') };
  services.sessions.tellOfCall(session, { type: 'answered', id, ...passed });
}

/** The channel of a process or an event stream belongs to one replica. */
function mayAskElsewhere({ config }: Backend, { sessions }: Services): boolean {
  return sessions.isShared && config.transport !== 'streamable-http';
}
