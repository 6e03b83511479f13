import type { Aggregation } from '#crds/run-config/aggregation';
import type { Backend } from '#runtime/mcp/backends/backend';
import { TemplateSearch } from '../route/template-search.ts';
import { appsOf } from './app-references.ts';
import type { KindCatalogue } from './catalogue.ts';
import { rankOf } from './compose-names.ts';
import type { BackendList } from './fetch-list.ts';

interface ToolsOf {
  readonly backend: Backend;
  readonly list: BackendList;
}

/** Limit of characters, in templates and URIs, that are matched for all apps of one list. */
const MOST_MATCHED = 1_000_000;

/** Maps the URI of an app to the backend that serves a read of it. */
export type AppOwners = ReadonlyMap<string, string>;

export const NO_APPS: AppOwners = new Map();

/**
 * Finds the backends that own the apps which these tools name. Lists resources and templates only if a tool names an
 * app.
 */
export async function ownersOfApps(
  lists: readonly ToolsOf[],
  list: (kind: 'resources' | 'templates') => KindCatalogue | Promise<KindCatalogue>,
  { backends, aggregation }: { readonly backends: () => readonly Backend[]; readonly aggregation: () => Aggregation },
): Promise<AppOwners> {
  const apps = findApps(lists);
  if (apps.size === 0) return NO_APPS;
  const [resources, templates] = await Promise.all([list('resources'), list('templates')]);
  return findAppOwners(apps, { resources, templates }, backends(), aggregation());
}

/** Returns the apps that tools name, each with the backends of these tools. */
function findApps(lists: readonly ToolsOf[]): ReadonlyMap<string, readonly Backend[]> {
  const apps = new Map<string, Backend[]>();
  for (const { backend, list } of lists) {
    for (const uri of list.entries.flatMap(({ text }) => appsOf(text))) {
      const backends = apps.get(uri);
      if (!backends) apps.set(uri, [backend]);
      else if (!backends.includes(backend)) backends.push(backend);
    }
  }
  return apps;
}

/**
 * Returns the backend that serves a read of each app: the backend that lists the app or has a matching template.
 * Backends may omit their apps from their lists. Then the only backend with resources owns the app, or else the first
 * backend whose tools name it.
 */
async function findAppOwners(
  apps: ReadonlyMap<string, readonly Backend[]>,
  { resources, templates }: { readonly resources: KindCatalogue; readonly templates: KindCatalogue },
  backends: readonly Backend[],
  aggregation: Aggregation,
): Promise<AppOwners> {
  const search = new TemplateSearch(MOST_MATCHED);
  const having = backends.filter(({ health }) => health.capabilities?.resources === true);
  const rank = rankOf(
    backends.map((backend) => ({ backend: backend.config })),
    aggregation,
  );
  const owners = new Map<string, string>();
  for (const [uri, naming] of apps) {
    const listed = resources.byName.get(uri) ?? (await search.first(templates.entries, uri));
    const [first] = having.length === 1 ? having : naming.toSorted((a, b) => rank(a.name) - rank(b.name));
    const owner = listed?.backend ?? first?.name;
    if (owner !== undefined) owners.set(uri, owner);
  }
  return owners;
}
