import { LoginNeeded } from '#runtime/authserver/user-tokens';
import { answerJson } from '#runtime/http/answer-json';
import type { ProviderLogin } from '#runtime/outgoing/credential';
import type { ClientRequest } from '../client-request.ts';
import { loginTexts, opensUrls, renderToolText, type LoginRequest } from './render-login.ts';
import type { Target } from './resolve-target.ts';

/** Clients request completions while the user types, so the gateway asks for no login then. */
export const SILENT = 'completion/complete';

interface Connecting {
  readonly request: ClientRequest;
  readonly asked: LoginRequest;
  readonly comes: (login: ProviderLogin) => Promise<boolean>;
  readonly ask: (login: ProviderLogin, error: LoginNeeded) => Promise<void>;
}

/** Answers with the login link or a note. False: the login is done, so the name may now resolve. @throws RequestError */
export async function answerConnect(
  { entry, backend }: Target,
  { request, asked, comes, ask }: Connecting,
): Promise<boolean> {
  const { res, identity, requestRecord } = request;
  const { login } = backend.credential;
  const isTool = entry.text !== '';
  if (!login) return false;
  requestRecord.target = entry.name;
  if ((await login.isReady(identity)) || (await comes(login))) {
    if (!isTool) return false;
    answerJson(res, 200, renderToolText(asked, loginTexts.connected(login.provider)));
  } else if (!isTool || opensUrls(asked)) {
    await ask(login, new LoginNeeded(login.provider));
  } else {
    const url = await login.linkUrl(identity);
    answerJson(res, 200, renderToolText(asked, loginTexts.connect(login.provider, url)));
  }
  return true;
}
