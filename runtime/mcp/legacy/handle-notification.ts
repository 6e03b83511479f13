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
import { backendSessionOf, type BackendSession, type ClientQuestion, type Session } from '../sessions/session.ts';
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
  const id = String(message.id);
  const minted = readMintedId(message.id);
  const span = message.spans.id;
  const asking = minted && findAsking(minted.backend, id, session, services);
  if (!asking || !span) throw invalidRequest(400, 'unknown_request', 'No backend asked this');
  const answer = splice(body, [{ ...span, text: minted.idText }]);
  const isTaken = await passAnswer(answer, asking, identity, services.config.limits.list_deadline);
  endQuestion(session, id);
  const passed = !isTaken && asking.mayBeOfOther && { body: answer.toString('utf8') };
  services.sessions.tellOfCall(session, { type: 'answered', id, ...passed });
}

/** Where the answer to a question may go. */
interface Asking {
  readonly backend: Backend | undefined;
  readonly backendSession: BackendSession | undefined;
  readonly question: ClientQuestion | undefined;
  /** Whether the question may be that of another replica. */
  readonly mayBeOfOther: boolean;
}

/** Undefined: no backend of this name asked the session. */
function findAsking(name: string, id: string, session: Session, services: Services): Asking | undefined {
  const backend = services.backends.get(name);
  const backendSession = backend && backendSessionOf(session, name);
  const question = session.questions?.get(id);
  const mayBeOfOther = backend !== undefined && mayAskElsewhere(backend, services);
  if (!backendSession && !mayBeOfOther && !question?.answer) return undefined;
  return { backend, backendSession, question, mayBeOfOther };
}

/** Returns whether a backend took the answer. */
async function passAnswer(
  answer: Buffer,
  { backend, backendSession, question }: Asking,
  identity: Identity,
  deadline: number,
): Promise<boolean> {
  const isCurrent = backend !== undefined && backendSession !== undefined;
  if (isCurrent && (await notify(backendSession, backend, identity, deadline, answer))) return true;
  // A reload replaced or removed the backend that asked.
  const isOfFormer = !isCurrent || question?.at !== backend;
  return isOfFormer && (await question?.answer?.(answer)) === true;
}

/** The channel of a process or an event stream belongs to one replica, and so does a call through a bridge. */
function mayAskElsewhere({ config, health }: Backend, { sessions }: Services): boolean {
  const isBridged = health.eras?.has('legacy') === false;
  return sessions.isShared && (config.transport !== 'streamable-http' || isBridged);
}
