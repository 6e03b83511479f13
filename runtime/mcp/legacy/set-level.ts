import type { Backend } from '../backends/backend.ts';
import { LOG_LEVELS } from '../log-levels.ts';
import { invalidParams } from '../route/refusals.ts';
import { withinLimitsOfAll } from '../route/within-limits.ts';
import { ensureBackendSession, notifyRequest, toldSoon } from '../sessions/open-backend-session.ts';
import { levelField } from '../sessions/session-record.ts';
import type { LegacyRequest } from './legacy-request.ts';

/** Sets the level at every backend with logging. Backend sessions that open later receive it then. @throws RequestError */
export async function setLevel(request: LegacyRequest, answer: () => void): Promise<void> {
  const { session, services, message } = request;
  const level = message.params?.level;
  if (typeof level !== 'string' || !LOG_LEVELS.includes(level))
    throw invalidParams(`logging/setLevel needs params.level: ${LOG_LEVELS.join(', ')}`);
  const logging = session.backendSessions.flatMap(({ backend: name }) => {
    const backend = services.backends.get(name);
    return backend?.health.capabilities?.logging ? [backend] : [];
  });
  await withinLimitsOfAll(logging, request, async () => {
    session.logLevel = level;
    await services.sessions.remember(session, levelField(level));
    await toldSoon(logging.map((backend) => tellLevel(backend, request)));
    answer();
  });
}

async function tellLevel(backend: Backend, request: LegacyRequest): Promise<void> {
  const { session, identity, services, message, body } = request;
  const backendSession = await ensureBackendSession(session, backend, identity, services);
  const deadline = services.config.limits.list_deadline;
  await notifyRequest(backend, backendSession, {
    identity,
    session,
    method: message.method,
    idText: message.idText,
    body,
    deadline,
  });
}
