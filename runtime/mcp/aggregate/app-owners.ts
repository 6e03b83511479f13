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

/** Characters of templates and URIs that are looked at for all apps of a list together. */
const MOST_MATCHED = 1_000_000;

/** An app's URI to the backend that a read of it leads to. */
export type AppOwners = ReadonlyMap<string, string>;

export const NO_APPS: AppOwners = new Map();

/** Whose the apps are that these tools name; where there are any, resources and templates are listed to know it. */
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

/** The apps that tools name, each with the backends of these tools. */
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
 * The backend that a read of each app leads to: the one that lists it, or has a template for it. Backends may leave their apps out of
 * their lists: then the only one with resources, or the first one whose tools name it.
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
