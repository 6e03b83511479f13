import { isJsonObject, type JsonObject } from '#runtime/mcp/envelope/decode-request';

/** Returns the result of a valid JSON-RPC message, or an empty object. */
export function resultOf(data: string): JsonObject {
  const { result } = JSON.parse(data) as JsonObject;
  return isJsonObject(result) ? result : {};
}

/** Returns the params of a valid JSON-RPC message, or an empty object. */
export function paramsOf(data: string): JsonObject {
  const { params } = JSON.parse(data) as JsonObject;
  return isJsonObject(params) ? params : {};
}

/** Returns the task to which a message of 2025-11-25 belongs. */
export function relatedTask(data: string): unknown {
  const { _meta: meta } = paramsOf(data);
  const related = isJsonObject(meta) ? meta['io.modelcontextprotocol/related-task'] : undefined;
  return isJsonObject(related) ? related.taskId : undefined;
}
