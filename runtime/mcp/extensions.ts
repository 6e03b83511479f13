import { isJsonObject, type DecodedRequest } from './envelope/decode-request.ts';
import type { Era } from './era.ts';
import { RequestError } from '#runtime/errors';

export const CLIENT_CAPABILITIES = 'io.modelcontextprotocol/clientCapabilities';
export const TASKS = 'io.modelcontextprotocol/tasks';
export const APPS = 'io.modelcontextprotocol/ui';
/** The core form of tasks of 2025-11-25, as `ServerCapabilities.extensions` names it. */
export const CORE_TASKS = 'tasks';
/** Requests about a task of 2026-07-28. */
export const TASK_METHODS: readonly string[] = ['tasks/get', 'tasks/update', 'tasks/cancel'];

/** Requests about a task of 2025-11-25. */
export const CORE_TASK_METHODS: readonly string[] = ['tasks/get', 'tasks/result', 'tasks/cancel'];
/** Carries a changed task in a subscription. */
export const TASK_CHANGED = 'notifications/tasks';

/** Extensions that the gateway routes. It offers no others. */
export const ROUTED: Readonly<Record<Era, readonly string[]>> = { legacy: [APPS], modern: [TASKS, APPS] };

/** Settings with which the gateway offers an extension. Some clients take any value of tasks but {} for no support. */
export const SETTINGS: Readonly<Record<string, object>> = { [APPS]: { mimeTypes: ['text/html;profile=mcp-app'] } };

/** JSON text of the capabilities with which the gateway asks backends for theirs. */
export const PROBE_CAPABILITIES = JSON.stringify({ extensions: { [TASKS]: {}, ...SETTINGS } });

const MISSING_CAPABILITY = -32021;

export function declaresTasks({ params }: DecodedRequest): boolean {
  const meta = params?._meta;
  const capabilities = isJsonObject(meta) ? meta[CLIENT_CAPABILITIES] : undefined;
  const extensions = isJsonObject(capabilities) ? capabilities.extensions : undefined;
  return isJsonObject(extensions) && isJsonObject(extensions[TASKS]);
}

/** MCP 2026-07-28: MissingRequiredClientCapability. */
export function needsTasks(): RequestError {
  return new RequestError({
    status: 400,
    code: 'missing_capability',
    text: `This request needs the client capability ${TASKS}`,
    rpc: { code: MISSING_CAPABILITY, data: { requiredCapabilities: { extensions: { [TASKS]: {} } } } },
  });
}
