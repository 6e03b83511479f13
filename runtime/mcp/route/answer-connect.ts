import type { ServerResponse } from 'node:http';
import type { Identity } from '#runtime/incoming/identity';
import { answerJson } from '#runtime/mcp/relay/client-stream';
import type { Trail } from '#runtime/trail';
import type { Era } from '../era.ts';
import { loginTexts, renderToolText } from './render-login.ts';
import { unknownName } from './refusals.ts';
import type { Target } from './resolve-target.ts';

/** Answers a call of the gateway's own tool: the link to the login, or that there is no need of one. @throws RequestError */
export async function answerConnect(
  { entry, backend }: Target,
  era: Era,
  request: {
    readonly res: ServerResponse;
    readonly message: { readonly idText: string };
    readonly identity: Identity;
    readonly trail: Trail;
  },
): Promise<void> {
  const { res, message, identity, trail } = request;
  const { login } = backend.credential;
  if (!login) throw unknownName('tools', era, entry.name);
  trail.target = entry.name;
  const text = (await login.isReady(identity))
    ? loginTexts.connected(login.provider)
    : loginTexts.connect(login.provider, await login.linkUrl(identity));
  answerJson(res, 200, renderToolText(era, message.idText, text));
}
