import { LoginNeeded } from '#runtime/authserver/user-tokens';
import { answerJson } from '#runtime/http/answer-json';
import type { ProviderLogin } from '#runtime/outgoing/credential';
import type { ClientRequest } from '../client-request.ts';
import { loginTexts, opensUrls, renderToolText, type LoginRequest } from './render-login.ts';
import type { Target } from './resolve-target.ts';

/** A client asks for completions while its user types: no time to send anybody to a login. */
export const SILENT = 'completion/complete';

/** What differs between the eras in a call of what stands for a backend that waits for a login. */
interface Connecting {
  readonly request: ClientRequest;
  readonly asked: LoginRequest;
  /** Whether the login comes while the client waits. */
  readonly comes: (login: ProviderLogin) => Promise<boolean>;
  /** Answers with the link, in the way that the client can use. */
  readonly ask: (login: ProviderLogin, error: LoginNeeded) => Promise<void>;
}

/**
 * Answers a call of what stands for a backend that waits for a login: the link, or that it is needed no more. False: nothing was
 * answered, as the login is done and the name may lead to something now.
 * @throws RequestError
 */
export async function answerConnect(
  { entry, backend }: Target,
  { request, asked, comes, ask }: Connecting,
): Promise<boolean> {
  const { res, identity, trail } = request;
  const { login } = backend.credential;
  const isTool = entry.text !== '';
  if (!login) return false;
  trail.target = entry.name;
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
