import type { Aggregation } from '#crds/run-config/aggregation';
import type { Backend } from '#runtime/mcp/backends/backend';
import type { CatalogueEntry } from './catalogue-entry.ts';
import { prefixOf, shorten } from './compose-names.ts';
import type { ListKind } from './list-kinds.ts';

type Tools = ReadonlyMap<string, CatalogueEntry>;

const NONE: Tools = new Map();
const ANNOTATIONS = { readOnlyHint: true };

/** One for each provider whose stored tokens a backend requires: it starts the caller's login there. */
export function connectTools(backends: readonly Backend[], maxNameLength: number): Tools {
  const tools = new Map<string, CatalogueEntry>();
  for (const { name: backend, credential } of backends) {
    const provider = credential.login?.provider;
    if (provider === undefined) continue;
    const name = shorten(`connect_${provider}`, maxNameLength);
    if (!tools.has(name)) tools.set(name, connectTool(name, provider, backend));
  }
  return tools.size === 0 ? NONE : tools;
}

/** Only an unlinked backend can have the name, e.g. from an earlier list. It may lack it after the login. */
export function nameThatWaits(
  kind: ListKind,
  name: string,
  unlinked: ReadonlyMap<string, string>,
  aggregation: Aggregation,
): CatalogueEntry | undefined {
  if (unlinked.size === 0 || (kind !== 'tools' && kind !== 'prompts')) return undefined;
  if (aggregation.conflict_resolution !== 'prefix') return undefined;
  for (const [backend, provider] of unlinked) {
    const prefix = prefixOf(backend, aggregation);
    if (prefix === '' || name.length <= prefix.length || !name.startsWith(prefix)) continue;
    const own = { name: name.slice(prefix.length), backend, originalName: name };
    return { name, backend, originalName: name, text: '', annotations: undefined, own, connects: provider };
  }
  return undefined;
}

function connectTool(name: string, provider: string, backend: string): CatalogueEntry {
  const tool = {
    name,
    title: `Log in at ${provider}`,
    description: `More tools of this server appear when the user has logged in at ${provider}. Call this tool without arguments and show the user the link that it returns; the tools are there once the login is done.`,
    inputSchema: { type: 'object', properties: {}, additionalProperties: false },
    annotations: ANNOTATIONS,
  };
  return {
    name,
    backend,
    originalName: name,
    text: JSON.stringify(tool),
    annotations: ANNOTATIONS,
    connects: provider,
  };
}
