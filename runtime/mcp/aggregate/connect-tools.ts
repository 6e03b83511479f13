import type { Backend } from '#runtime/mcp/backends/backend';
import type { CatalogueEntry } from './catalogue.ts';
import { shorten } from './compose-names.ts';

type Tools = ReadonlyMap<string, CatalogueEntry>;

const NONE: Tools = new Map();
const ANNOTATIONS = { readOnlyHint: true };

/**
 * The gateway's own tools by name: one for each provider whose stored tokens a backend is called with. It leads the caller to
 * the login there. Nothing that a backend offers may have such a name.
 */
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
