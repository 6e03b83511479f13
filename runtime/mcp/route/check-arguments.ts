import type { Services } from '#runtime/services';
import type { DecodedRequest } from '../envelope/decode-request.ts';
import { duplicateKeysIn } from '../envelope/duplicate-keys.ts';
import type { Edit } from '../envelope/splice.ts';
import { invalidRequest } from './refusals.ts';
import type { Target } from './resolve-target.ts';

/** Backend, policies and webhooks must read the same arguments: rejects duplicate keys, and writes the parsed text. */
export function checkArguments(message: DecodedRequest, body: Buffer, { backend }: Target, services: Services): Edit[] {
  const span = message.spans['params.arguments'];
  if (!span || !(services.authorizer.readsArguments || backend.authorizer?.readsArguments || backend.webhooks))
    return [];
  const text = JSON.stringify(message.params?.arguments);
  // Most clients write exactly this text, which has no duplicate key and needs no edit.
  if (text === body.toString('utf8', span.start, span.end)) return [];
  if (duplicateKeysIn(body, span)) throw invalidRequest(400, 'invalid_request', 'a key occurs twice in arguments');
  return [{ ...span, text }];
}
