import type { Identity } from '#runtime/incoming/identity';
import { ask, NoAnswer } from '#runtime/mcp/backends/ask';
import type { AnswerSink, Backend } from '#runtime/mcp/backends/backend';
import { callFailure } from '#runtime/mcp/backends/failures';
import { isAway } from '#runtime/mcp/backends/health';
import { ownRequest } from '#runtime/mcp/backends/own-request';
import { endSession, revisionOf } from '#runtime/mcp/backends/probe';
import type { Services } from '#runtime/services';
import { endQuestionsAt } from './client-questions.ts';
import { readCapabilities } from './capabilities.ts';
import { backendSessionOf, type BackendSession, type Session } from './session.ts';

const PODS_TRIED = 3;

export function backendSessionHeaders(backendSession: BackendSession): string[] {
  return backendSession.sessionId === undefined
    ? ['mcp-protocol-version', backendSession.revision]
    : ['mcp-session-id', backendSession.sessionId, 'mcp-protocol-version', backendSession.revision];
}

export function opensAtUse({ config }: Backend): boolean {
  return config.transport === 'stdio' && config.stdio_process === 'perSession';
}

/** Returns the backend session if it is open. Otherwise opens it in the background, unless that starts a process. */
export function openSoon(
  session: Session,
  backend: Backend,
  identity: Identity,
  services: Services,
): BackendSession | undefined {
  if (!backend.sessions || isAway(backend.health)) return undefined;
  if (opensAtUse(backend)) return backendSessionOf(session, backend.name);
  const backendSession = ensureBackendSession(session, backend, identity, services);
  if (!(backendSession instanceof Promise)) return backendSession;
  backendSession.catch(() => undefined);
  return undefined;
}

/** Opens the session with the client's own initialize params. Concurrent callers share one opening. @throws NoAnswer */
export function ensureBackendSession(
  session: Session,
  backend: Backend,
  identity: Identity,
  services: Services,
): BackendSession | Promise<BackendSession> {
  const backendSession = backendSessionOf(session, backend.name);
  if (backendSession?.at === backend) return backendSession;
  const running = session.opening?.get(backend);
  if (running) return running;
  const opening = openBackendSession(session, backend, identity, services).finally(() => {
    session.opening?.delete(backend);
    if (session.opening?.size === 0) session.opening = undefined;
  });
  session.opening ??= new Map();
  session.opening.set(backend, opening);
  return opening;
}

async function openBackendSession(
  session: Session,
  backend: Backend,
  identity: Identity,
  services: Services,
): Promise<BackendSession> {
  const deadline = services.config.limits.list_deadline;
  const { answer, address } = await initializeBackendSession(session, backend, identity, deadline);
  if (!answer.result) throw new NoAnswer(callFailure(backend.name, 'protocol', true));
  const { health } = backend;
  health.capabilities = readCapabilities(answer.result, 'legacy', health.capabilities);
  const backendSession: BackendSession = {
    backend: backend.name,
    at: backend,
    sessionId: answer.sessionId,
    revision: revisionOf(answer.result),
    capabilities: health.capabilities,
    initialized: false,
    // Omitted if undefined, to save memory: sessions are many.
    ...(address === undefined ? {} : { address }),
  };
  const kept = await keepBackendSession(session, backendSession, identity, services);
  if (kept !== backendSession) return kept;
  // The client sent notifications/initialized before this backend session opened.
  if (session.initialized) await sendInitialized(backendSession, backend, identity, deadline);
  if (session.logLevel !== undefined && backendSession.capabilities.logging)
    await tellLevel(session, session.logLevel, backendSession, backend, identity, deadline);
  await subscribeAgain(session, backendSession, backend, identity, deadline);
  return backendSession;
}

/** Tries another pod if one refuses the connection. @throws NoAnswer */
async function initializeBackendSession(session: Session, backend: Backend, identity: Identity, deadline: number) {
  const { paramsText } = session.profile;
  for (let tries = 1; ; tries += 1) {
    const address = await backend.pickAddress?.();
    const question = { identity, era: 'legacy', session, method: 'initialize', paramsText, deadline } as const;
    try {
      return { address, answer: await ask(backend, { ...question, headers: [], address }) };
    } catch (error) {
      const isGone = error instanceof NoAnswer && error.failure.reason === 'session_lost' && address !== undefined;
      if (!isGone || tries === PODS_TRIED) throw error;
    }
  }
}

/** After a reload, a call that began before uses its session alone. @returns the one to use: another replica may have been first */
async function keepBackendSession(
  session: Session,
  backendSession: BackendSession,
  identity: Identity,
  services: Services,
): Promise<BackendSession> {
  checkAlive(session, backendSession, identity);
  if (services.latest().backends.get(backendSession.backend) !== backendSession.at) return backendSession;
  // Another replica reported this session during the opening. Replacing it would split the client's calls.
  const onEvent = backendSessionOf(session, backendSession.backend);
  if (onEvent?.at === backendSession.at) {
    endBackendSession(backendSession, identity);
    return onEvent;
  }
  session.backendSessions = [
    ...session.backendSessions.filter(({ backend }) => backend !== backendSession.backend),
    backendSession,
  ];
  session.stream?.join(backendSession);
  const kept = await services.sessions.keepBackendSession(session, backendSession);
  checkAlive(session, backendSession, identity);
  if (kept !== backendSession) endBackendSession(backendSession, identity);
  return kept;
}

function checkAlive(session: Session, backendSession: BackendSession, identity: Identity): void {
  if (!session.isOver) return;
  endBackendSession(backendSession, identity);
  throw new NoAnswer(callFailure(backendSession.backend, 'session_lost', false));
}

function endBackendSession(backendSession: BackendSession, identity: Identity): void {
  void endSession(backendSession.at, identity, backendSession);
}

async function subscribeAgain(
  session: Session,
  backendSession: BackendSession,
  backend: Backend,
  identity: Identity,
  deadline: number,
): Promise<void> {
  const method = 'resources/subscribe';
  for (const [uri, owner] of session.subscriptions ?? []) {
    if (owner !== backend.name) continue;
    const request = ownRequest(method, JSON.stringify({ uri }));
    await notifyRequest(backend, backendSession, { identity, session, method, ...request, deadline });
  }
}

async function tellLevel(
  session: Session,
  level: string,
  backendSession: BackendSession,
  backend: Backend,
  identity: Identity,
  deadline: number,
): Promise<void> {
  const method = 'logging/setLevel';
  const request = ownRequest(method, JSON.stringify({ level }));
  await notifyRequest(backend, backendSession, { identity, session, method, ...request, deadline });
}

export async function sendInitialized(
  backendSession: BackendSession,
  backend: Backend,
  identity: Identity,
  deadline: number,
): Promise<void> {
  if (backendSession.initialized) return;
  backendSession.initialized = true;
  await notify(
    backendSession,
    backend,
    identity,
    deadline,
    Buffer.from('{"jsonrpc":"2.0","method":"notifications/initialized"}'),
  );
}

/** Per session and backend. Drops further messages: a client may send faster than the backend reads. */
const MAX_UNTAKEN = 100;

/** Settles when the backend took the message or delivery failed. */
export function notify(
  backendSession: BackendSession,
  backend: Backend,
  identity: Identity,
  deadline: number,
  body: Buffer,
): Promise<boolean> {
  const { untaken = 0 } = backendSession;
  if (untaken >= MAX_UNTAKEN) return Promise.resolve(false);
  backendSession.untaken = untaken + 1;
  return new Promise((resolve) => {
    const done = (delivered: boolean) => () => {
      backendSession.untaken = (backendSession.untaken ?? 1) - 1;
      resolve(delivered);
    };
    const sink: AnswerSink = {
      json: done(true),
      accepted: done(true),
      open: () => undefined,
      event: () => undefined,
      close: done(true),
      fail: done(false),
    };
    backend.send({
      identity,
      era: 'legacy',
      method: 'notification',
      idText: undefined,
      verb: 'POST',
      body,
      headers: backendSessionHeaders(backendSession),
      address: backendSession.address,
      deadline,
      // A repeated cancellation or answer has no effect at a server.
      idempotent: true,
      isOneWay: true,
      sink,
    });
  });
}

/** Milliseconds. */
const SOON = 250;

/** Settles after `SOON` at the latest. A hanging backend still gets its message, but the client does not wait. */
export async function toldSoon(telling: readonly Promise<unknown>[]): Promise<void> {
  if (telling.length === 0) return;
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, SOON);
  });
  await Promise.race([Promise.allSettled(telling), late]);
  clearTimeout(timer);
}

export async function notifyRequest(
  backend: Backend,
  backendSession: BackendSession,
  request: { identity: Identity; session: Session; method: string; idText: string; body: Buffer; deadline: number },
): Promise<void> {
  await new Promise<void>((resolve) => {
    const done = () => resolve();
    const ignore = () => undefined;
    const sink: AnswerSink = { json: done, accepted: done, open: ignore, event: ignore, close: done, fail: done };
    const { address } = backendSession;
    const headers = backendSessionHeaders(backendSession);
    backend.send({ ...request, headers, address, era: 'legacy', verb: 'POST', idempotent: true, sink });
  });
}

/** The next call there reports the lost state before a new process starts. */
function noteLostProcess(session: Session, { at, backend }: BackendSession): void {
  if (opensAtUse(at) && session.stateAt?.has(backend)) (session.lostAt ??= new Set()).add(backend);
}

export function dropBackendSession(session: Session, backendSession: BackendSession): void {
  // A session that is not in the list was reported before.
  if (session.backendSessions.includes(backendSession)) noteLostProcess(session, backendSession);
  endQuestionsAt(session, backendSession.backend);
  session.backendSessions = session.backendSessions.filter((one) => one !== backendSession);
}
