import { RequestError } from '#runtime/errors';
import type { Services } from '#runtime/services';
import type { Asker } from '../aggregate/asker.ts';
import type { Catalogue } from '../aggregate/catalogue.ts';
import type { Backend } from '../backends/backend.ts';
import { invalidParams } from '../route/refusals.ts';
import { resolveName } from '../route/resolve-target.ts';

export interface ResolvedTask {
  readonly backend: Backend;
  /** The backend's own id. */
  readonly id: string;
  readonly tool: string;
}

const UNKNOWN = 'unknown_name';
const ENDED_SESSION = 'The task belongs to another session, or to one that its backend no longer knows';

/**
 * Returns the task of a client's id. The caller must see the tool that created the task. Policies that read arguments
 * have decided about the call. `sessionAt`: the caller's session at a backend, for tasks of 2025-11-25. @throws
 * RequestError
 */
export async function resolveTask(
  taskId: unknown,
  sessionAt: ((backend: string) => string) | undefined,
  catalogue: Catalogue,
  asker: Asker,
  services: Services,
): Promise<ResolvedTask> {
  if (typeof taskId !== 'string') throw invalidParams('a request about a task needs params.taskId');
  const task = services.tasks.open(taskId, asker.identity.key);
  if (!task || (task.session === undefined) !== (sessionAt === undefined)) {
    // Guesses count, as those of names do.
    services.rateLimits?.charge(asker.identity);
    throw unknownTask();
  }
  const backend = await backendOf(task.tool, catalogue, asker, services);
  if (backend?.name !== task.backend) throw unknownTask();
  if (sessionAt && sessionAt(backend.name) !== task.session) throw unknownTask(ENDED_SESSION);
  return { backend, id: task.id, tool: task.tool };
}

/** Returns undefined if the caller does not see the tool. */
async function backendOf(
  tool: string,
  catalogue: Catalogue,
  asker: Asker,
  services: Services,
): Promise<Backend | undefined> {
  try {
    return (await resolveName('tools', tool, catalogue, asker, services)).backend;
  } catch (error) {
    if (error instanceof RequestError && error.answer.code === UNKNOWN) return undefined;
    throw error;
  }
}

function unknownTask(text = 'Unknown task'): RequestError {
  return new RequestError({ status: 200, code: UNKNOWN, text, rpc: { code: -32602 } });
}
