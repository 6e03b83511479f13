import type { ClientRequest } from '../client-request.ts';
import type { Asker } from '../aggregate/asker.ts';
import type { Catalogue } from '../aggregate/catalogue.ts';
import type { Backend } from '../backends/backend.ts';
import { offersTasks } from '../backends/health.ts';
import { dropMember } from '../envelope/drop-members.ts';
import { splice, type Edit } from '../envelope/splice.ts';
import { checkArguments } from './check-arguments.ts';
import { completionTarget } from './completion-target.ts';
import { authorizeCall, type Target } from './resolve-target.ts';

export interface PreparedCall {
  readonly backend: Backend;
  /** Undefined if the request carries no name. */
  readonly originalName: string | undefined;
  readonly body: Buffer;
  readonly idempotent: boolean;
  /** Advertised name of the called tool. The ids of tasks that the call creates contain it. */
  readonly tool?: string | undefined;
  /** Whether the client requests a task of 2025-11-25. */
  readonly createsTask?: boolean;
  /** Its id, if the answer and all messages before it concern this task of 2025-11-25. */
  readonly relatedTask?: string;
  /** The client's id of the task that the request is about. */
  readonly taskId?: string;
  /** Changes the answer, a JSON-RPC message. Absent: the answer is relayed as it arrives. */
  readonly rewrite?: ((answer: string) => string) | undefined;
}

const NONE: readonly Edit[] = [];

/** Inserts the backend's own name. `more`: further edits of the body. @throws RequestError */
export function prepareNamed(
  kind: 'tools' | 'prompts',
  target: Target,
  asker: Asker,
  { message, body, services, requestRecord }: ClientRequest,
  more: readonly Edit[] = NONE,
): PreparedCall {
  const edits = checkArguments(message, body, target, services);
  if (more.length > 0) edits.push(...more);
  authorizeCall(kind, target, message.params?.arguments, asker, services, requestRecord);
  const { entry, backend } = target;
  const span = message.spans['params.name'];
  if (entry.name !== entry.originalName && span) edits.push({ ...span, text: JSON.stringify(entry.originalName) });
  const task = message.spans['params.task'];
  const createsTask = task !== undefined && takesTasks(kind, backend, asker);
  // A receiver without tasks must ignore `task`.
  if (task && !createsTask) edits.push(dropMember(body, task));
  return {
    backend,
    originalName: entry.originalName,
    body: splice(body, edits),
    idempotent: kind === 'prompts' || isRepeatable(entry),
    tool: kind === 'tools' ? entry.name : undefined,
    createsTask,
  };
}

function takesTasks(kind: 'tools' | 'prompts', { health }: Backend, { era }: Asker): boolean {
  return kind === 'tools' && offersTasks(health, era);
}

function isRepeatable({ annotations }: Target['entry']): boolean {
  return annotations?.readOnlyHint === true || annotations?.idempotentHint === true;
}

/** Inserts the backend's own name. @throws RequestError */
export async function prepareCompletion(
  catalogue: Catalogue,
  asker: Asker,
  { message, body, services, requestRecord }: ClientRequest,
): Promise<PreparedCall> {
  const { entry, backend } = await completionTarget(message, catalogue, asker, services, requestRecord);
  requestRecord.target = entry.name;
  requestRecord.backend = backend.name;
  const span = message.spans['params.ref.name'];
  const renamed = entry.name !== entry.originalName && span;
  return {
    backend,
    originalName: undefined,
    body: renamed ? splice(body, [{ ...span, text: JSON.stringify(entry.originalName) }]) : body,
    idempotent: true,
  };
}
