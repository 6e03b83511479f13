import { ask, type Answer } from '#runtime/mcp/backends/ask';
import type { Backend, BackendCall } from '#runtime/mcp/backends/backend';
import { modernHeaders } from '#runtime/mcp/backends/probe';
import { encodeHeaderValue } from '../../modern/header-value.ts';
import { taskMembers } from './caller-meta.ts';

/** Milliseconds. Requests about a task return at once, while the call of a client may be a long one. */
const LONGEST = 60_000;

/** Sends a request about a task of a modern backend. `id`: the backend's own. `more`: as for `modernBody`. @throws NoAnswer */
export function askTask(
  backend: Backend,
  { identity, session, deadline }: BackendCall,
  method: 'tasks/get' | 'tasks/update' | 'tasks/cancel',
  id: string,
  more = '',
): Promise<Answer> {
  return ask(backend, {
    identity,
    era: 'modern',
    method,
    paramsText: `{"taskId":${JSON.stringify(id)},${more}"_meta":{${taskMembers(session)}}}`,
    headers: [...modernHeaders(method), 'mcp-name', encodeHeaderValue(id)],
    deadline: Math.min(deadline || LONGEST, LONGEST),
  });
}
