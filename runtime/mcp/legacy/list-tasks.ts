import { answerJson } from '#runtime/http/answer-json';
import { RequestError } from '#runtime/errors';
import { ask, NoAnswer } from '../backends/ask.ts';
import { offersTasks } from '../backends/health.ts';
import type { JsonObject } from '../envelope/decode-request.ts';
import type { Framing } from '../framing.ts';
import { invalidParams, methodNotFound } from '../route/refusals.ts';
import { withinLimitsOfAll } from '../route/within-limits.ts';
import { backendSessionHeaders } from '../sessions/open-backend-session.ts';
import { sha256 } from '../sessions/record-seal.ts';
import { backendSessionOf } from '../sessions/session.ts';
import { resolveTask, type ResolvedTask } from '../tasks/resolve-task.ts';
import type { LegacyRequest } from './legacy-request.ts';
import { forgetTask, knownTasks } from './session-tasks.ts';

/** Tasks on one page. Each of them is one request to a backend. */
const PAGE = 25;
const CURSOR = /^[\w-]{1,64}$/;
const INVALID_PARAMS = -32602;

interface ListedTask extends ResolvedTask {
  /** The client's id. */
  readonly taskId: string;
}

/** Undefined: the backend no longer knows the task. */
type Outcome = { readonly task: JsonObject } | { readonly failure: RequestError } | undefined;

/**
 * Answers tasks/list of 2025-11-25 with the tasks of this session whose tools the caller may see. Backends are asked for
 * each task, as their lists do not name the tool of a task. @throws RequestError
 */
export async function listTasks(
  request: LegacyRequest,
  framing: Framing<LegacyRequest>,
  sessionAt: (backend: string) => string,
): Promise<void> {
  const { res, message, services, session } = request;
  if (!services.backends.all.some(({ health }) => offersTasks(health, 'legacy'))) throw methodNotFound('legacy');
  const { page, nextCursor } = pageOf([...knownTasks(session)], message.params?.cursor);
  const asker = framing.asker(request);
  const catalogue = framing.catalogue(request, asker);
  const resolve = (taskId: string) =>
    resolveTask(taskId, sessionAt, catalogue, asker, services).then(
      (task): ListedTask => ({ ...task, taskId }),
      (error: unknown) => {
        if (error instanceof RequestError && error.answer.code === 'unknown_name') return undefined;
        throw error;
      },
    );
  const tasks = (await Promise.all(page.map(resolve))).filter((task) => task !== undefined);
  await withinLimitsOfAll([...new Set(tasks.map(({ backend }) => backend))], request, async () => {
    const outcomes = await Promise.all(tasks.map((task) => stateOf(task, request)));
    const states = outcomes.flatMap((outcome) => (outcome && 'task' in outcome ? [outcome.task] : []));
    const failed = outcomes.find((outcome) => outcome !== undefined && 'failure' in outcome);
    // An empty list would be wrong.
    if (states.length === 0 && failed) throw failed.failure;
    const result = JSON.stringify({ tasks: states, ...(nextCursor === undefined ? {} : { nextCursor }) });
    answerJson(res, 200, `{"jsonrpc":"2.0","id":${message.idText},"result":${result}}`);
  });
}

/** The order does not depend on the replica, and a cursor outlives its task. @throws RequestError */
function pageOf(taskIds: readonly string[], cursor: unknown): { page: string[]; nextCursor: string | undefined } {
  const isFirst = cursor === undefined || cursor === null;
  if (!isFirst && !(typeof cursor === 'string' && CURSOR.test(cursor))) throw invalidParams('Unknown cursor');
  const sorted = taskIds.map((taskId) => ({ taskId, key: sha256(taskId) })).sort((a, b) => (a.key < b.key ? -1 : 1));
  const rest = isFirst ? sorted : sorted.filter(({ key }) => key > cursor);
  const page = rest.slice(0, PAGE);
  return { page: page.map(({ taskId }) => taskId), nextCursor: rest.length > PAGE ? page.at(-1)?.key : undefined };
}

async function stateOf({ backend, id, taskId }: ListedTask, request: LegacyRequest): Promise<Outcome> {
  const { identity, services, session } = request;
  const backendSession = backendSessionOf(session, backend.name);
  if (!backendSession) return undefined;
  try {
    const { result, error } = await ask(backend, {
      identity,
      era: 'legacy',
      session,
      method: 'tasks/get',
      paramsText: JSON.stringify({ taskId: id }),
      headers: backendSessionHeaders(backendSession),
      address: backendSession.address,
      deadline: services.config.limits.list_deadline,
    });
    if (error?.code === INVALID_PARAMS) await forgetTask(session, taskId, services);
    if (!result) return undefined;
    return { task: { ...result, taskId } };
  } catch (error) {
    if (error instanceof NoAnswer) return { failure: error.failure.error };
    throw error;
  }
}
