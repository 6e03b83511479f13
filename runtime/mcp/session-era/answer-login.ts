import { randomUUID } from 'node:crypto';
import type { LoginNeeded } from '#runtime/authserver/user-tokens';
import { answerJson } from '#runtime/mcp/relay/client-stream';
import { noteAnswer } from '#runtime/note-trail';
import type { Backend } from '../backends/backend.ts';
import { loginTexts, opensUrls, renderElicitation, renderLoginText } from '../route/render-login.ts';
import type { Session } from '../sessions/session.ts';
import type { SessionRequest } from './session-request.ts';

/** A client asks for completions while its user types: no time to send anybody to a login. */
const SILENT = 'completion/complete';
const MAX_ELICITATIONS = 20;

/**
 * Answers a request whose backend needs a login of the caller's first: with the link, in the way that the client can use.
 * @throws RequestError where there is no link to be had
 */
export async function answerLogin(request: SessionRequest, { credential }: Backend, error: LoginNeeded): Promise<void> {
  const { res, message, session, identity, trail } = request;
  const { login } = credential;
  if (!login || message.method === SILENT) throw error;
  const { provider } = login;
  const url = await login.linkUrl(identity);
  noteAnswer(trail, error.answer, error);
  const { revision, capabilities } = session.profile;
  const asked = { ...message, era: 'session', revision, capabilities } as const;
  if (!opensUrls(asked)) {
    answerJson(res, 200, renderLoginText(asked, loginTexts.needed(provider, url), { provider, url }));
    return;
  }
  const elicitationId = randomUUID();
  rememberElicitation(session, elicitationId, provider);
  answerJson(res, 200, renderElicitation(asked, { provider, url, elicitationId }));
}

/** So that the client is told when the login is done. */
function rememberElicitation(session: Session, id: string, provider: string): void {
  const elicitations = (session.elicitations ??= new Map<string, string>());
  const oldest = elicitations.keys().next().value;
  if (elicitations.size >= MAX_ELICITATIONS && oldest !== undefined) elicitations.delete(oldest);
  elicitations.set(id, provider);
}
