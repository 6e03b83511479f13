import type { JsonObject } from '#runtime/mcp/envelope/decode-request';

/** Returns a copy without these members. */
export function omit(object: JsonObject, keys: ReadonlySet<string>): JsonObject {
  return Object.fromEntries(Object.entries(object).filter(([key]) => !keys.has(key)));
}
