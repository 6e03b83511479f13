import { isJsonObject, type JsonObject } from '#runtime/mcp/envelope/decode-request';
import { CORE_TASKS, ROUTED, SETTINGS, TASKS } from '#runtime/mcp/extensions';
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
  const { resources } = capabilities;
  return {
    text,
    tools: isJsonObject(capabilities.tools),
    prompts: isJsonObject(capabilities.prompts),
    resources: isJsonObject(resources),
    subscribe: isJsonObject(resources) && resources.subscribe === true,
    logging: isJsonObject(capabilities.logging),
    completions: isJsonObject(capabilities.completions),
    instructions,
    extensions: { ...last?.extensions, [era]: offeredBy(capabilities, era) },
  };
}

function offeredBy({ extensions, tasks }: JsonObject, era: Era): string[] {
  const offered = isJsonObject(extensions) ? ROUTED[era].filter((id) => isJsonObject(extensions[id])) : [];
  return era === 'legacy' && offersCoreTasks(tasks) ? [...offered, CORE_TASKS] : offered;
}

function offersCoreTasks(tasks: unknown): boolean {
  const requests = isJsonObject(tasks) ? tasks.requests : undefined;
  const tools = isJsonObject(requests) ? requests.tools : undefined;
  return isJsonObject(tools) && isJsonObject(tools.call);
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

const TASKS_OF: Readonly<Record<Era, string>> = { legacy: CORE_TASKS, modern: TASKS };

/** A bridge between eras passes apps on, and translates tasks of a backend that never answered in this era. */
function isOffered(id: string, { extensions }: ServerCapabilities, era: Era): boolean {
  const { legacy = [], modern = [] } = extensions;
  if (id !== TASKS_OF[era]) return legacy.includes(id) || modern.includes(id);
  const other = era === 'legacy' ? 'modern' : 'legacy';
  return extensions[era]?.includes(id) ?? extensions[other]?.includes(TASKS_OF[other]) ?? false;
}

export const OFFERED_TASKS = { list: {}, cancel: {}, requests: { tools: { call: {} } } };

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
    ...(era === 'legacy' && any((one) => isOffered(CORE_TASKS, one, era)) ? { tasks: OFFERED_TASKS } : {}),
    ...(extensions.length > 0
      ? { extensions: Object.fromEntries(extensions.map((id) => [id, SETTINGS[id] ?? {}])) }
      : {}),
  };
}
