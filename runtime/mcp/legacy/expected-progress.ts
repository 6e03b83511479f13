import type { BackendMessage } from '#runtime/mcp/envelope/decode-backend-message';
import { noteForeignProgress, progressTokenOf, reportedToken } from '#runtime/mcp/envelope/progress-token';
import { LONGEST_KEPT, ownersOf, sentCalls } from '../sessions/in-flight.ts';
import type { SentCall, Session } from '../sessions/session.ts';
import type { LegacyRequest } from './legacy-request.ts';

interface ProgressSource {
  readonly backend: { readonly name: string };
  /** Undefined: the stream is the backend's own. */
  readonly call: SentCall | undefined;
  readonly session: Session;
  readonly services: Pick<LegacyRequest['services'], 'log'>;
}

/** HTTP backends receive the client's own tokens, so they can guess others. */
export function isExpectedProgress(data: string, message: BackendMessage, source: ProgressSource): boolean {
  const token = reportedToken(message, data);
  if (token !== undefined && isTokenOf(token, source)) return true;
  noteForeignProgress(source.services.log, source.backend.name);
  return false;
}

function isTokenOf(token: string, { backend, call, session }: ProgressSource): boolean {
  if (call?.progressToken === token) return true;
  const isOwn = (sent: SentCall) => sent.backend === backend.name;
  const owners = ownersOf(session, token);
  if (owners.length > 0) return owners.some(isOwn);
  // After a restart, only the client knows the token.
  return sentCalls(session).some((sent) => sent.progressToken === null && isOwn(sent));
}

/** The session's own stream may be at another replica, which checks tokens. */
export function tellProgressToken({ session, message, body, services }: LegacyRequest, backend: string): void {
  const progressToken = progressTokenOf(message, body);
  if (progressToken === undefined || progressToken.length > LONGEST_KEPT) return;
  services.sessions.tellOfCall(session, { type: 'sent', id: message.idText, backend, progressToken });
}
