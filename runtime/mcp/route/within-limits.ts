import type { ServerResponse } from 'node:http';
import type { Identity } from '#runtime/incoming/identity';
import type { Services } from '#runtime/services';
import type { ClientRequest } from '../client-request.ts';
import type { CatalogueEntry } from '../aggregate/catalogue-entry.ts';
import type { Backend } from '../backends/backend.ts';
import { CORE_TASK_METHODS, TASK_METHODS } from '../extensions.ts';

const COUNTED: ReadonlySet<string> = new Set([
  'tools/call',
  'prompts/get',
  'resources/read',
  'resources/subscribe',
  'resources/unsubscribe',
  'completion/complete',
  ...TASK_METHODS,
  ...CORE_TASK_METHODS,
  'tasks/list',
  'logging/setLevel',
]);

/** Called before anything is resolved. @throws RateLimited */
export function checkLimits(method: string, { rateLimits }: Services, identity: Identity): void {
  if (rateLimits && COUNTED.has(method)) rateLimits.check(identity);
}

/** Sends nothing if the client no longer waits. @throws RateLimited */
export function withinLimits(
  { name }: Pick<Backend, 'name'>,
  tool: CatalogueEntry | undefined,
  { res, identity, services: { rateLimits } }: ClientRequest,
  send: () => Promise<void>,
): Promise<void> {
  return sendCounted(rateLimits?.take(identity, name, tool), res, send);
}

/** @throws RateLimited */
export function withinLimitsOfAll(
  backends: readonly Pick<Backend, 'name'>[],
  { res, identity, services: { rateLimits } }: ClientRequest,
  send: () => Promise<void>,
): Promise<void> {
  const names = backends.map(({ name }) => name);
  return sendCounted(rateLimits?.takeForAll(identity, names), res, send);
}

function sendCounted(counted: void | Promise<void>, res: ServerResponse, send: () => Promise<void>): Promise<void> {
  if (counted === undefined) return send();
  return counted.then(() => (res.destroyed ? undefined : send()));
}
