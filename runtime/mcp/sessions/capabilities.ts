import { isJsonObject, type JsonObject } from '#runtime/mcp/envelope/decode-request';
import { APPS, ROUTED, SETTINGS } from '#runtime/mcp/extensions';
import type { Era } from '../era.ts';

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
  /** Routed extensions that the backend offers. An era is absent until the backend answered in it. */
  readonly extensions: Readonly<Partial<Record<Era, readonly string[]>>>;
}

/** Returns `last` if the capabilities have not changed. `era`: that of the answered request. */
export function readCapabilities(
  result: JsonObject | undefined,
  era: Era,
  last?: ServerCapabilities,
): ServerCapabilities {
  const capabilities = isJsonObject(result?.capabilities) ? result.capabilities : {};
  const instructions = typeof result?.instructions === 'string' ? result.instructions : undefined;
  const text = JSON.stringify([capabilities, instructions]);
  if (last?.text === text && last.extensions[era]) return last;
  const { resources, extensions } = capabilities;
  const offered = isJsonObject(extensions) ? ROUTED[era].filter((id) => isJsonObject(extensions[id])) : [];
  return {
    text,
    tools: isJsonObject(capabilities.tools),
    prompts: isJsonObject(capabilities.prompts),
    resources: isJsonObject(resources),
    subscribe: isJsonObject(resources) && resources.subscribe === true,
    logging: isJsonObject(capabilities.logging),
    completions: isJsonObject(capabilities.completions),
    instructions,
    extensions: { ...last?.extensions, [era]: offered },
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
  extensions: {},
};

/** Only apps pass a bridge between eras. */
function isOffered(id: string, { extensions }: ServerCapabilities, era: Era): boolean {
  const eras = id === APPS ? Object.values(extensions) : [extensions[era] ?? []];
  return eras.some((offered) => offered.includes(id));
}

/** Returns what the gateway offers clients of this era. Lists can always change, as backends come and go. */
export function mergeCapabilities(all: readonly ServerCapabilities[], era: Era): JsonObject {
  const any = (pick: (capabilities: ServerCapabilities) => boolean): boolean => all.some(pick);
  const extensions = ROUTED[era].filter((id) => any((one) => isOffered(id, one, era)));
  return {
    tools: { listChanged: true },
    ...(any((one) => one.prompts) ? { prompts: { listChanged: true } } : {}),
    ...(any((one) => one.resources)
      ? { resources: { listChanged: true, ...(any((one) => one.subscribe) ? { subscribe: true } : {}) } }
      : {}),
    ...(any((one) => one.completions) ? { completions: {} } : {}),
    ...(any((one) => one.logging) ? { logging: {} } : {}),
    ...(extensions.length > 0
      ? { extensions: Object.fromEntries(extensions.map((id) => [id, SETTINGS[id] ?? {}])) }
      : {}),
  };
}
