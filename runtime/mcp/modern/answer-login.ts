import type { LoginNeeded } from '#runtime/authserver/user-tokens';
import { answerJson } from '#runtime/http/answer-json';
import { noteAnswer } from '#runtime/write-request-record';
import type { ProviderLogin } from '#runtime/outgoing/credential';
import { isJsonObject, type DecodedRequest } from '../envelope/decode-request.ts';
import type { Edit } from '../envelope/splice.ts';
import { MODERN_REVISION } from '../era.ts';
import { answerConnect as answerConnectTool, SILENT } from '../route/answer-connect.ts';
import {
  elicitationKey,
  isElicitationKey,
  loginTexts,
  opensUrls,
  renderElicitation,
  renderLoginText,
  type LoginRequest,
} from '../route/render-login.ts';
import type { Target } from '../route/resolve-target.ts';
import type { ModernRequest } from './modern-request.ts';

const NONE: readonly Edit[] = [];
/** Milliseconds. Clients wait much longer for an answer. */
const WAIT = { longest: 25_000, every: 500 };

function answerTo({ params }: DecodedRequest, provider: string): string | undefined {
  const responses = params?.inputResponses;
  const response = isJsonObject(responses) ? responses[elicitationKey(provider)] : undefined;
  return isJsonObject(response) && typeof response.action === 'string' ? response.action : undefined;
}

/** Backends must not see responses to the gateway's own requests for input. */
export function withoutOwnResponses({ params, spans }: DecodedRequest): readonly Edit[] {
  const span = spans['params.inputResponses'];
  if (!span) return NONE;
  const responses = params?.inputResponses;
  if (!isJsonObject(responses) || !Object.keys(responses).some(isElicitationKey)) return NONE;
  const others = Object.entries(responses).filter(([key]) => !isElicitationKey(key));
  return [{ ...span, text: JSON.stringify(Object.fromEntries(others)) }];
}

/** Returns false if the user did not open the link, or the wait is too long for the client. */
export async function awaitLogin(
  { message, identity, res }: ModernRequest,
  login: ProviderLogin,
  { longest, every } = WAIT,
): Promise<boolean> {
  if (answerTo(message, login.provider) !== 'accept') return false;
  const until = performance.now() + longest;
  while (performance.now() < until && !res.destroyed) {
    if (await login.isReady(identity)) return true;
    await new Promise((resolve) => setTimeout(resolve, every));
  }
  return false;
}

/** Sends the login link in the form that the client supports. @throws RequestError if there is no link */
export async function answerLogin(request: ModernRequest, login: ProviderLogin, error: LoginNeeded): Promise<void> {
  const { res, message, identity, requestRecord } = request;
  const { provider } = login;
  if (message.method === SILENT) throw error;
  const asked = loginRequest(request);
  const said = answerTo(message, provider);
  if (said !== undefined && said !== 'accept') {
    noteAnswer(requestRecord, error.answer, error);
    answerJson(res, 200, renderLoginText(asked, loginTexts.declined(provider), { provider }));
    return;
  }
  const url = await login.linkUrl(identity);
  noteAnswer(requestRecord, error.answer, error);
  // After an unfinished login, a text: otherwise the client would open the next link at once.
  const text =
    said === undefined && opensUrls(asked)
      ? renderElicitation(asked, { provider, url, elicitationId: '' })
      : renderLoginText(asked, loginTexts.needed(provider, url), { provider, url });
  answerJson(res, 200, text);
}

/** See `answerConnect` of both revisions. The client's retry may wait for the login. @throws RequestError */
export function answerConnect(request: ModernRequest, target: Target): Promise<boolean> {
  return answerConnectTool(target, {
    request,
    asked: loginRequest(request),
    comes: (login) => awaitLogin(request, login),
    ask: (login, error) => answerLogin(request, login, error),
  });
}

function loginRequest({ message, meta }: ModernRequest): LoginRequest {
  const { method, idText, params } = message;
  const { capabilities } = meta;
  return { era: 'modern', revision: MODERN_REVISION, capabilities, method, idText, params };
}
