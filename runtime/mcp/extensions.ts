import { isJsonObject, type DecodedRequest } from './envelope/decode-request.ts';
import type { Era } from './era.ts';
import { RequestError } from '#runtime/errors';

export const CLIENT_CAPABILITIES = 'io.modelcontextprotocol/clientCapabilities';
export const TASKS = 'io.modelcontextprotocol/tasks';
/** Requests about a task of 2026-07-28. */
export const TASK_METHODS: readonly string[] = ['tasks/get', 'tasks/update', 'tasks/cancel'];

/** Carries a changed task in a subscription. */
export const TASK_CHANGED = 'notifications/tasks';

/** Extensions that the gateway routes between a client and a backend of the same era. It offers no others. */
export const ROUTED: Readonly<Record<Era, readonly string[]>> = { legacy: [], modern: [TASKS] };

/** JSON text of the capabilities with which the gateway asks backends for theirs. */
export const PROBE_CAPABILITIES = `{"extensions":{"${TASKS}":{}}}`;

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
