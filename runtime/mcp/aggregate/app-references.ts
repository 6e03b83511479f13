import { isJsonObject, type JsonObject } from '#runtime/mcp/envelope/decode-request';
import { rewriteEntry } from './rewrite-entry.ts';

/** Older hosts read this key, from before `_meta.ui`. SDKs write both. */
const FLAT_KEY = 'ui/resourceUri';

/** Extension io.modelcontextprotocol/ui. `text`: the tool's JSON text. */
export function appsOf(text: string): readonly string[] {
  const { ui, meta } = readMeta(text);
  const uris = [ui.resourceUri, meta[FLAT_KEY]];
  return uris.filter((uri): uri is string => typeof uri === 'string' && uri.startsWith('ui://'));
}

export function withoutApps(text: string): string {
  const { ui, meta } = readMeta(text);
  const rest = without(meta, FLAT_KEY);
  return rewriteEntry(text, { meta: meta.ui === undefined ? rest : { ...rest, ui: without(ui, 'resourceUri') } });
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
