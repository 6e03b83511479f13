import { RequestError } from '#runtime/errors';
import { hashId, newId } from '../ids.ts';
import type { TicketRow } from '../storage/rows.ts';
import type { AuthStorage } from '../storage/storage.ts';

export const TICKET_LIFESPAN = 600_000;
export const MAX_TICKETS = 10_000;

/** Returns a single-use URL, valid for 10 min, at which only this user can link. @throws RequestError 503, StorageUnavailable */
export async function issueLinkUrl(storage: AuthStorage, connectionsUrl: string, row: TicketRow): Promise<string> {
  const ticket = newId();
  const options = { lifespan: TICKET_LIFESPAN, capacity: MAX_TICKETS };
  if (await storage.put('ticket', hashId(ticket), row, options)) return `${connectionsUrl}/link?ticket=${ticket}`;
  throw new RequestError({
    status: 503,
    code: 'too_many_links',
    text: 'Too many logins are pending: try again later',
    rpc: { code: -32603 },
  });
}
