import { isJsonObject, type JsonObject } from '#runtime/mcp/envelope/decode-request';

/** Backend sessions with equal capabilities share the object. */
export interface ServerCapabilities {
  readonly text: string;
  readonly tools: boolean;
  readonly prompts: boolean;
  readonly resources: boolean;
  readonly subscribe: boolean;
  readonly logging: boolean;
  readonly completions: boolean;
  readonly instructions: string | undefined;
}

/** Returns `last` if the capabilities have not changed. */
export function readCapabilities(result: JsonObject | undefined, last?: ServerCapabilities): ServerCapabilities {
  const capabilities = isJsonObject(result?.capabilities) ? result.capabilities : {};
  const instructions = typeof result?.instructions === 'string' ? result.instructions : undefined;
  const text = JSON.stringify([capabilities, instructions]);
  if (last?.text === text) return last;
  const resources = capabilities.resources;
  return {
    text,
    tools: isJsonObject(capabilities.tools),
    prompts: isJsonObject(capabilities.prompts),
    resources: isJsonObject(resources),
    subscribe: isJsonObject(resources) && resources.subscribe === true,
    logging: isJsonObject(capabilities.logging),
    completions: isJsonObject(capabilities.completions),
    instructions,
  };
}

/** Assumed of a backend that cannot be probed before a login, so that clients request its lists afterwards. */
export const ASSUMED: ServerCapabilities = {
  text: '',
  tools: true,
  prompts: true,
  resources: true,
  subscribe: false,
  logging: false,
  completions: false,
  instructions: undefined,
};

/** Lists can always change, as backends come and go. */
export function mergeCapabilities(all: readonly ServerCapabilities[]): JsonObject {
  const any = (pick: (capabilities: ServerCapabilities) => boolean): boolean => all.some(pick);
  return {
    tools: { listChanged: true },
    ...(any((one) => one.prompts) ? { prompts: { listChanged: true } } : {}),
    ...(any((one) => one.resources)
      ? { resources: { listChanged: true, ...(any((one) => one.subscribe) ? { subscribe: true } : {}) } }
      : {}),
    ...(any((one) => one.completions) ? { completions: {} } : {}),
    ...(any((one) => one.logging) ? { logging: {} } : {}),
  };
}
