import { randomUUID } from 'node:crypto';
import type { LoginNeeded } from '#runtime/authserver/user-tokens';
import { answerJson } from '#runtime/http/answer-json';
import { noteAnswer } from '#runtime/write-request-record';
import type { Backend } from '../backends/backend.ts';
import { answerConnect as answerConnectTool, SILENT } from '../route/answer-connect.ts';
import { loginTexts, opensUrls, renderElicitation, renderLoginText, type LoginRequest } from '../route/render-login.ts';
import type { Target } from '../route/resolve-target.ts';
import { loginField } from '../sessions/session-record.ts';
import type { LegacyRequest } from './legacy-request.ts';

const MAX_ELICITATIONS = 20;

/** Sends the login link in the form that the client supports. @throws RequestError if there is no link */
export async function answerLogin(request: LegacyRequest, { credential }: Backend, error: LoginNeeded): Promise<void> {
  const { res, message, identity, requestRecord } = request;
  const { login } = credential;
  if (!login || message.method === SILENT) throw error;
  const { provider } = login;
  const url = await login.linkUrl(identity);
  noteAnswer(requestRecord, error.answer, error);
  const asked = loginRequest(request);
  const text = opensUrls(asked)
    ? await elicit(request, asked, provider, url)
    : renderLoginText(asked, loginTexts.needed(provider, url), { provider, url });
  answerJson(res, 200, text);
}

/** See `answerConnect` of both revisions. @throws RequestError */
export function answerConnect(request: LegacyRequest, target: Target): Promise<boolean> {
  return answerConnectTool(target, {
    request,
    asked: loginRequest(request),
    comes: () => Promise.resolve(false),
    ask: (_login, error) => answerLogin(request, target.backend, error),
  });
}

function loginRequest({ message, session }: LegacyRequest): LoginRequest {
  const { revision, capabilities } = session.profile;
  const { method, idText, params } = message;
  return { era: 'legacy', revision, capabilities, method, idText, params };
}

async function elicit(request: LegacyRequest, asked: LoginRequest, provider: string, url: string): Promise<string> {
  const elicitationId = randomUUID();
  await rememberElicitation(request, elicitationId, provider);
  return renderElicitation(asked, { provider, url, elicitationId });
}

async function rememberElicitation({ session, services }: LegacyRequest, id: string, provider: string): Promise<void> {
  const asked = (session.elicitations ??= new Map<string, string>());
  const [oldest] = asked.keys();
  if (oldest !== undefined && asked.size >= MAX_ELICITATIONS) {
    asked.delete(oldest);
    await services.sessions.remember(session, loginField(oldest, undefined));
  }
  asked.set(id, provider);
  await services.sessions.remember(session, loginField(id, provider));
}
