import type { ServerResponse } from 'node:http';
import type { Identity } from '#runtime/incoming/identity';
import type { Rooms } from '#runtime/rooms';
import type { ClientRequest } from '../client-request.ts';
import type { CatalogueEntry } from '../aggregate/catalogue-entry.ts';
import type { Backend } from '../backends/backend.ts';

/** Requests that go on to backends: these are counted. */
const COUNTED: ReadonlySet<string> = new Set([
  'tools/call',
  'prompts/get',
  'resources/read',
  'resources/subscribe',
  'resources/unsubscribe',
  'completion/complete',
  'logging/setLevel',
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
  { res, identity, rooms: { rateLimits } }: ClientRequest,
  send: () => Promise<void>,
): Promise<void> {
  return sendCounted(rateLimits?.take(identity, name, tool), res, send);
}

/** Sends one request to all of these backends, when the limits of each let it through. @throws RateLimited */
export function withinLimitsOfAll(
  backends: readonly Pick<Backend, 'name'>[],
  { res, identity, rooms: { rateLimits } }: ClientRequest,
  send: () => Promise<void>,
): Promise<void> {
  const names = backends.map(({ name }) => name);
  return sendCounted(rateLimits?.takeForAll(identity, names), res, send);
}

function sendCounted(counted: void | Promise<void>, res: ServerResponse, send: () => Promise<void>): Promise<void> {
  if (counted === undefined) return send();
  return counted.then(() => (res.destroyed ? undefined : send()));
}
