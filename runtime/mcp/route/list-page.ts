import { RequestError } from '#runtime/errors';
import type { Rooms } from '#runtime/rooms';
import type { Asker } from '../aggregate/asker.ts';
import type { Catalogue, KindCatalogue } from '../aggregate/catalogue.ts';
import type { ListKind } from '../aggregate/list-kinds.ts';
import type { DecodedRequest } from '../envelope/decode-request.ts';
import { invalidParams } from './refusals.ts';

const INTERNAL_ERROR = -32603;

/**
 * The list that a client asks for, on one page.
 * @throws RequestError for a cursor, as none was given out, and where the configuration wants whole lists or none
 */
export async function listPage(
  kind: ListKind,
  message: DecodedRequest,
  catalogue: Catalogue,
  asker: Asker,
  rooms: Rooms,
): Promise<KindCatalogue> {
  const cursor = message.params?.cursor;
  if (cursor !== undefined && cursor !== null && cursor !== '')
    throw invalidParams('Unknown cursor: there is one page');
  const list = await rooms.catalogues.list(catalogue, kind, asker);
  const isWhole = rooms.config.operational.failure_handling.partial_failure_mode === 'fail';
  if (isWhole && list.missing.length > 0) throw incomplete(list.missing);
  return list;
}

function incomplete(missing: readonly string[]): RequestError {
  return new RequestError({
    status: 200,
    code: 'list_incomplete',
    text: `The list is incomplete: no answer from ${missing.join(', ')}; try again later`,
    rpc: { code: INTERNAL_ERROR, data: { missing } },
  });
}
