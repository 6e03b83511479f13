import type { Rooms } from '#runtime/rooms';
import type { DecodedRequest } from '../envelope/decode-request.ts';
import { duplicateKeysIn } from '../envelope/duplicate-keys.ts';
import type { Edit } from '../envelope/splice.ts';
import { invalidRequest } from './refusals.ts';
import type { Target } from './resolve-target.ts';

/**
 * Where a policy or a webhook reads arguments, the backend must read the same ones: a key that occurs twice is refused, and what
 * goes out is written anew from what they saw.
 */
export function checkArguments(message: DecodedRequest, body: Buffer, { backend }: Target, rooms: Rooms): Edit[] {
  const span = message.spans['params.arguments'];
  if (!span || !(rooms.authorizer.readsArguments || backend.authorizer?.readsArguments || backend.webhooks)) return [];
  const text = JSON.stringify(message.params?.arguments);
  // Most clients write just this: then there is no key twice, and nothing to write anew.
  if (text === body.toString('utf8', span.start, span.end)) return [];
  if (duplicateKeysIn(body, span)) throw invalidRequest(400, 'invalid_request', 'a key occurs twice in arguments');
  return [{ ...span, text }];
}
