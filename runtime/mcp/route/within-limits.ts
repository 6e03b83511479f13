import type { ServerResponse } from 'node:http';
import type { Identity } from '#runtime/incoming/identity';
import type { Rooms } from '#runtime/rooms';
import type { CatalogueEntry } from '../aggregate/catalogue.ts';
import type { Backend } from '../backends/backend.ts';

interface Requested {
  readonly res: ServerResponse;
  readonly identity: Identity;
  readonly rooms: Rooms;
}

/** Requests that go on to backends, one for each: these are counted. */
const COUNTED: ReadonlySet<string> = new Set([
  'tools/call',
  'prompts/get',
  'resources/read',
  'resources/subscribe',
  'resources/unsubscribe',
  'completion/complete',
]);

/** Refuses a request of whoever has none left, before anything is looked up. @throws RateLimited */
export function checkLimits(method: string, { rateLimits }: Rooms, identity: Identity): void {
  if (rateLimits && COUNTED.has(method)) rateLimits.check(identity);
}

/**
 * Sends a request that its policies allow to this backend, when its limits let it through and its client still waits. `tool`: it
 * calls that one.
 * @throws RateLimited
 */
export function withinLimits(
  { name }: Pick<Backend, 'name'>,
  tool: CatalogueEntry | undefined,
  { res, identity, rooms: { rateLimits } }: Requested,
  send: () => Promise<void>,
): Promise<void> {
  const counted = rateLimits?.take(identity, name, tool);
  if (counted === undefined) return send();
  return counted.then(() => (res.destroyed ? undefined : send()));
}
