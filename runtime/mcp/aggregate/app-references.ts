import { isJsonObject, type JsonObject } from '#runtime/mcp/envelope/decode-request';
import { APPS } from '../extensions.ts';
import { rewriteEntry } from './rewrite-entry.ts';

export const APP_SCHEME = 'ui://';

/** Older hosts read this key, from before `_meta.ui`. SDKs write both. */
const FLAT_KEY = 'ui/resourceUri';
/** JSON strings that begin with the scheme. Some languages escape slashes. */
const APP_URIS = /(?<!\\)"ui:(?:\\?\/){2}(?:[^"\\]|\\.)*"/g;

/** `capabilities`: JSON text of those that a client declares. */
export function declaresApps(capabilities: string): boolean {
  if (!capabilities.includes(APPS)) return false;
  const declared: unknown = JSON.parse(capabilities);
  return isJsonObject(declared) && isJsonObject(declared.extensions) && isJsonObject(declared.extensions[APPS]);
}

/** Returns whether apps may call the tool. `text`: its JSON text. */
export function isForApps(text: string): boolean {
  const tool: unknown = text.includes('visibility') ? JSON.parse(text) : undefined;
  const ui = isJsonObject(tool) && isJsonObject(tool._meta) ? tool._meta.ui : undefined;
  const visibility = isJsonObject(ui) ? ui.visibility : undefined;
  return !Array.isArray(visibility) || visibility.includes('app');
}

/** Extension io.modelcontextprotocol/ui. `text`: the tool's JSON text. */
export function appsOf(text: string): readonly string[] {
  const { ui, meta } = readMeta(text);
  const uris = [ui.resourceUri, meta[FLAT_KEY]];
  return uris.filter((uri): uri is string => typeof uri === 'string' && uri.startsWith(APP_SCHEME));
}

export function withoutApps(text: string): string {
  const { ui, meta } = readMeta(text);
  const rest = without(meta, FLAT_KEY);
  return rewriteEntry(text, { meta: meta.ui === undefined ? rest : { ...rest, ui: without(ui, 'resourceUri') } });
}

/** Replaces the strings of a JSON text that are equal to a key of `uris`. */
export function replaceApps(text: string, uris: ReadonlyMap<string, string>): string {
  return text.replaceAll(APP_URIS, (token) => {
    const uri = uris.get(readString(token));
    return uri === undefined ? token : JSON.stringify(uri);
  });
}

function readString(token: string): string {
  try {
    return JSON.parse(token) as string;
  } catch {
    return '';
  }
}

function without(object: JsonObject, key: string): JsonObject {
  return Object.fromEntries(Object.entries(object).filter(([name]) => name !== key));
}

const NOTHING = { ui: {}, meta: {} };

function readMeta(text: string): { ui: JsonObject; meta: JsonObject } {
  // Most tools name no app, so this check avoids parsing them.
  if (!text.includes('resourceUri')) return NOTHING;
  const tool: unknown = JSON.parse(text);
  const meta = isJsonObject(tool) && isJsonObject(tool._meta) ? tool._meta : {};
  return { meta, ui: isJsonObject(meta.ui) ? meta.ui : {} };
}
