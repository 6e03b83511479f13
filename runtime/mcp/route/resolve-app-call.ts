import type { Services } from '#runtime/services';
import { declaresApps, isForApps } from '../aggregate/app-references.ts';
import type { Asker } from '../aggregate/asker.ts';
import type { CatalogueEntry } from '../aggregate/catalogue-entry.ts';
import type { Catalogue } from '../aggregate/catalogue.ts';
import { ambiguousName } from './refusals.ts';

/**
 * Returns the tool that an app calls by the backend's own name: hosts forward the calls of apps unchanged. Only one tool
 * of the group may have that name. Undefined: no tool, or the client supports no apps. @throws RequestError if several
 * tools have the name
 */
export async function resolveAppCall(
  name: string,
  catalogue: Catalogue,
  asker: Asker,
  services: Services,
  isVisible: (entry: CatalogueEntry) => boolean,
): Promise<CatalogueEntry | undefined> {
  if (!declaresApps(asker.capabilities)) return undefined;
  const { catalogues } = services;
  const list = await catalogues.list(catalogue, 'tools', asker);
  const offered = [...list.entries, ...list.unlisted.values()].filter((entry) => entry.originalName === name);
  const absent = list.missing.filter((backend) => catalogues.wasListed(backend, 'tools', name));
  const visible = offered.filter((entry) => entry.connects === undefined && isForApps(entry.text) && isVisible(entry));
  if (visible.length === 0) return undefined;
  if (offered.length + absent.length > 1) throw ambiguousName(visible.map((entry) => entry.name));
  return visible[0];
}
