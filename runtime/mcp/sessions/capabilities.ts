import { isJsonObject, type JsonObject } from '#runtime/mcp/envelope/decode-request';

/** Capabilities that a backend declares. Backend sessions with equal ones share the object. */
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

/** What a backend's `initialize` or `server/discover` result says. `last`: given back where it says the same again. */
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

/** Of a backend that nobody could ask before a login: what it may turn out to have, so that clients ask for it then. */
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

/** One server's capabilities out of all its backends'. Lists can always change: a backend may come or go. */
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
