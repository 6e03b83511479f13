import { RequestError } from '#runtime/errors';
import type { Services } from '#runtime/services';
import type { Asker } from '../aggregate/asker.ts';
import type { Catalogue, KindCatalogue } from '../aggregate/catalogue.ts';
import { LIST_SPECS, type ListKind } from '../aggregate/list-kinds.ts';
import { isAway } from '../backends/health.ts';
import type { DecodedRequest } from '../envelope/decode-request.ts';
import { invalidParams } from './refusals.ts';

const INTERNAL_ERROR = -32603;
const RETRY_AFTER = 1_000;

/** @throws RequestError for a cursor (none is issued), if complete lists are required, and if no backend answers: empty would be wrong */
export async function listPage(
  kind: ListKind,
  message: DecodedRequest,
  catalogue: Catalogue,
  asker: Asker,
  services: Services,
): Promise<KindCatalogue> {
  const cursor = message.params?.cursor;
  if (cursor !== undefined && cursor !== null && cursor !== '')
    throw invalidParams('Unknown cursor: there is one page');
  const list = await services.catalogues.list(catalogue, kind, asker);
  const isWhole = services.config.operational.failure_handling.partial_failure_mode === 'fail';
  if (isWhole && list.missing.length > 0) throw incomplete(list.missing);
  if (list.sources.length === 0 && list.failures.size > 0 && list.unlinked.size === 0 && !someHaveNone(kind, services))
    throw unanswered();
  return list;
}

/** An empty list is correct if an answering backend is known to lack it. */
function someHaveNone(kind: ListKind, { backends }: Services): boolean {
  const { capability } = LIST_SPECS[kind];
  return backends.all.some(({ health }) => !isAway(health) && health.capabilities?.[capability] === false);
}

function unanswered(): RequestError {
  return new RequestError({
    status: 200,
    code: 'list_unavailable',
    text: 'No backend of this server answers now; try again in a moment',
    rpc: { code: INTERNAL_ERROR, data: { retryAfterMs: RETRY_AFTER } },
  });
}

function incomplete(missing: readonly string[]): RequestError {
  return new RequestError({
    status: 200,
    code: 'list_incomplete',
    text: `The list is incomplete: no answer from ${missing.join(', ')}; try again later`,
    rpc: { code: INTERNAL_ERROR, data: { missing } },
  });
}
