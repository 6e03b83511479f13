import type { RequestError } from '#runtime/errors';
import type { Services } from '#runtime/services';
import type { RequestRecord } from '#runtime/request-record';
import type { Asker } from '../aggregate/asker.ts';
import type { CatalogueEntry } from '../aggregate/catalogue-entry.ts';
import type { Catalogue } from '../aggregate/catalogue.ts';
import type { ListKind } from '../aggregate/list-kinds.ts';
import type { Backend } from '../backends/backend.ts';
import { isAway } from '../backends/health.ts';
import type { Authorizer, Decision, PolicyAction, PolicyResource } from '#runtime/policy/authorizer';
import { mayConnect } from './may-connect.ts';
import type { PolicyServices } from './policy-services.ts';
import { spellingsOf } from './normalise-uri.ts';
import { resolveAppCall } from './resolve-app-call.ts';
import { deniedByPolicy, unknownName } from './refusals.ts';
import { TemplateSearch } from './template-search.ts';

/** Characters per request: about five milliseconds, and more than regular templates need. */
const MOST_FOR_ONE = 1_000_000;
/** Characters. Limited because policies decide about each spelling; RFC 9110 §4.1 recommends 8,000. */
const MAX_UNLISTED = 8_192;

export interface Target {
  readonly entry: CatalogueEntry;
  readonly backend: Backend;
  /** Entries for the other spellings in which the server may read the URI. */
  readonly others?: readonly CatalogueEntry[];
}

export const actions: Record<ListKind, PolicyAction> = {
  tools: 'call_tool',
  prompts: 'get_prompt',
  resources: 'read_resource',
  templates: 'read_resource',
};

/** @throws RequestError if the name is unknown */
export function resolveName(
  kind: 'tools' | 'prompts',
  name: string,
  catalogue: Catalogue,
  asker: Asker,
  services: Services,
): Target | Promise<Target> {
  const entry = services.catalogues.find(catalogue, kind, name, asker);
  if (!(entry instanceof Promise) && entry && entry.failure === undefined)
    return targetOf(entry, kind, name, asker, services);
  return Promise.resolve(entry).then(async (found) => {
    // The refusal of a hidden name must take as long as that of an unknown name.
    const isAwaited = found?.failure !== undefined && isVisible(kind, found, asker, services);
    const listed = isAwaited ? await services.catalogues.whenListed(found, catalogue, kind, asker) : found;
    const isShown = (one: CatalogueEntry) => isVisible(kind, one, asker, services);
    const isOfApp = !listed && kind === 'tools';
    const ofApp = isOfApp ? await resolveAppCall(name, catalogue, asker, services, isShown) : undefined;
    return targetOf(ofApp ?? listed, kind, name, asker, services);
  });
}

/** Resolves by the URI, then by the app of a tool, a matching template, or the only backend with resources. */
export async function resolveUri(
  uri: string,
  catalogue: Catalogue,
  asker: Asker,
  services: Services,
  search = new TemplateSearch(MOST_FOR_ONE),
): Promise<Target> {
  const listed = await services.catalogues.find(catalogue, 'resources', uri, asker);
  if (listed) return targetOf(listed, 'resources', uri, asker, services);
  const app = services.catalogues.apps.use(uri);
  const backend =
    app?.backend ??
    (await search.first(await templatesOf(catalogue, asker, services), uri))?.backend ??
    onlyResourceBackend(services);
  if (backend === undefined || uri.length > MAX_UNLISTED) throw refuseName('resources', uri, asker, services);
  const [target, ...others] = spellingsOf(app?.uri ?? uri).map((spelling) => {
    const entry = app && app.uri !== uri ? aliasEntry(uri, backend, spelling) : unlistedEntry(spelling, backend);
    return targetOf(entry, 'resources', uri, asker, services);
  });
  if (target === undefined) throw refuseName('resources', uri, asker, services);
  return { ...target, others: others.map(({ entry }) => entry) };
}

function unlistedEntry(name: string, backend: string): CatalogueEntry {
  return { name, backend, originalName: name, text: '', annotations: undefined };
}

function aliasEntry(alias: string, backend: string, ownUri: string): CatalogueEntry {
  return { ...unlistedEntry(ownUri, backend), name: alias, own: unlistedEntry(ownUri, backend) };
}

/** Returns the resource of an app that clients see at this URI. */
export function entryOfApp(uri: string, backend: string, { catalogues }: PolicyServices): CatalogueEntry {
  const ownUri = catalogues.apps.ownerOf(uri)?.uri ?? uri;
  return ownUri === uri ? unlistedEntry(uri, backend) : aliasEntry(uri, backend, ownUri);
}

async function templatesOf(catalogue: Catalogue, asker: Asker, services: Services): Promise<readonly CatalogueEntry[]> {
  return (await services.catalogues.list(catalogue, 'templates', asker)).entries;
}

/** A server may serve unlisted URIs, and with one server the owner is certain. */
function onlyResourceBackend(services: Services): string | undefined {
  const having = services.backends.all.filter(
    ({ health }) => !isAway(health) && health.capabilities?.resources === true,
  );
  return having.length === 1 ? having[0]?.name : undefined;
}

function targetOf(
  entry: CatalogueEntry | undefined,
  kind: ListKind,
  name: string,
  asker: Asker,
  services: Services,
): Target {
  const backend = entry && services.backends.get(entry.backend);
  if (!entry || !backend) throw refuseName(kind, name, asker, services);
  if (!isVisible(kind, entry, asker, services)) throw refuseName(kind, name, asker, services, entry);
  if (entry.failure) throw entry.failure;
  return { entry, backend };
}

/** Counts the name as a call against the limits, so that guessing names is limited too. */
export function refuseName(
  kind: ListKind,
  name: string,
  { era, identity }: Asker,
  services: Services,
  hidden?: CatalogueEntry,
): RequestError {
  services.rateLimits?.charge(identity);
  if (!hidden) return unknownName(kind, era, name);
  return unknownName(kind, era, name, { backend: hidden.backend, decision: hides(kind, hidden, identity, services) });
}

/** Returns the decision that hides an entry; undefined: no policy hides it. */
function hides(
  kind: ListKind,
  entry: CatalogueEntry,
  identity: Asker['identity'],
  services: PolicyServices,
): Decision | undefined {
  if (entry.connects !== undefined) return undefined;
  const action = actions[kind];
  const decision = services.authorizer.decideVisible(identity, action, entry);
  if (!decision.allowed) return decision;
  return services.backends.get(entry.backend)?.authorizer?.decideVisible(identity, action, entry.own ?? entry);
}

/** The server's policies decide about the advertised name, the backend's about the name at its own endpoint. */
export function isVisible(
  kind: ListKind,
  entry: CatalogueEntry,
  { identity }: Pick<Asker, 'identity'>,
  services: PolicyServices,
): boolean {
  if (entry.connects !== undefined) return mayConnect(entry, identity, services);
  const action = actions[kind];
  const own = services.backends.get(entry.backend)?.authorizer;
  return (
    services.authorizer.visible(identity, action, entry) && (own?.visible(identity, action, entry.own ?? entry) ?? true)
  );
}

/** Applies both policy sets of `isVisible` to each spelling of a URI. @throws RequestError 403 */
export function authorizeCall(
  kind: ListKind,
  target: Pick<Target, 'entry' | 'others'> & { readonly backend: Pick<Backend, 'name' | 'authorizer'> },
  args: unknown,
  asker: Pick<Asker, 'identity'>,
  services: Pick<Services, 'authorizer' | 'rateLimits'>,
  requestRecord: Pick<RequestRecord, 'target' | 'backend' | 'trace' | 'decision'>,
): void {
  const { entry, backend, others } = target;
  requestRecord.target = entry.name;
  requestRecord.backend = backend.name;
  authorizeEntry(kind, entry, backend, args, asker, services, requestRecord);
  if (others !== undefined)
    for (const each of others) authorizeEntry(kind, each, backend, args, asker, services, requestRecord);
}

function authorizeEntry(
  kind: ListKind,
  entry: CatalogueEntry,
  { authorizer: own }: Pick<Backend, 'authorizer'>,
  args: unknown,
  asker: Pick<Asker, 'identity'>,
  services: Pick<Services, 'authorizer' | 'rateLimits'>,
  requestRecord: Pick<RequestRecord, 'trace' | 'decision'>,
): void {
  decide(services.authorizer, kind, entry, args, asker, services, requestRecord);
  if (own) decide(own, kind, entry.own ?? entry, args, asker, services, requestRecord);
}

function decide(
  authorizer: Authorizer,
  kind: ListKind,
  resource: PolicyResource,
  args: unknown,
  { identity }: Pick<Asker, 'identity'>,
  { rateLimits }: Pick<Services, 'rateLimits'>,
  requestRecord: Pick<RequestRecord, 'trace' | 'decision'>,
): void {
  const step = requestRecord.trace?.begin('policy');
  const decision = authorizer.decide(identity, actions[kind], resource, args);
  step?.end(decision.allowed ? undefined : 'denied');
  requestRecord.decision = joinDecisions(requestRecord.decision, decision);
  if (decision.allowed) return;
  rateLimits?.charge(identity);
  throw deniedByPolicy(decision);
}

/** Returns a denial before a recorded denial, and that before a permit. Two permits give the policies of both. */
function joinDecisions(earlier: Decision | undefined, now: Decision): Decision {
  if (!earlier || earlier === now || !now.allowed || now.wouldDeny) return now;
  if (earlier.wouldDeny || now.policies.length === 0) return earlier;
  return { ...now, policies: [...new Set([...earlier.policies, ...now.policies])] };
}
