import type { RateLimiting } from '#crds/run-config/operational';
import type { Backend } from '#crds/run-config/backend';
import type { RunConfig } from '#crds/run-config/run-config';
import type { CatalogueEntry } from '#runtime/mcp/aggregate/catalogue-entry';
import type { Limit } from './limit.ts';

type Bucket = NonNullable<RateLimiting['shared']>;

interface Limits {
  readonly general: readonly Limit[];
  readonly byTool: ReadonlyMap<string, readonly Limit[]>;
}

const NONE: Limits = { general: [], byTool: new Map() };

/** Finds the limits of a request. */
export class LimitTable {
  readonly all: readonly Limit[];
  /** Limits of the server per user, independent of the requested backend and tool. */
  readonly ofUsers: readonly Limit[];
  readonly #server: Limits;
  readonly #backends: ReadonlyMap<string, Limits>;
  readonly #general: ReadonlyMap<string, readonly Limit[]>;
  readonly #tools = new WeakMap<CatalogueEntry, readonly Limit[]>();

  constructor({ rate_limiting: ofServer, backends }: Pick<RunConfig, 'rate_limiting' | 'backends'>) {
    this.#server = ofServer ? limitsOf(ofServer, []) : NONE;
    this.#backends = new Map(backends.map((backend) => [backend.name, limitsOfBackend(backend)]));
    this.#general = new Map(
      [...this.#backends].map(([name, { general }]) => [name, [...this.#server.general, ...general]]),
    );
    const places = [this.#server, ...this.#backends.values()];
    this.all = places.flatMap(({ general, byTool }) => [...general, ...[...byTool.values()].flat()]);
    this.ofUsers = this.#server.general.filter(({ perUser }) => perUser);
  }

  get tools(): readonly string[] {
    return [...this.#server.byTool.keys()];
  }

  ofBackend(name: string): readonly Limit[] {
    return this.#general.get(name) ?? this.#server.general;
  }

  ofBackends(names: readonly string[]): readonly Limit[] {
    return [...this.#server.general, ...names.flatMap((name) => this.#backends.get(name)?.general ?? [])];
  }

  ofTool(entry: CatalogueEntry): readonly Limit[] {
    const known = this.#tools.get(entry);
    if (known) return known;
    const general = this.ofBackend(entry.backend);
    // The server's limits use advertised tool names; those of an MCPServer use the names that it shows by itself.
    const own = this.#server.byTool.get(entry.name) ?? [];
    const ofBackend = this.#backends.get(entry.backend)?.byTool.get(entry.originalName) ?? [];
    const limits = own.length + ofBackend.length === 0 ? general : [...general, ...own, ...ofBackend];
    this.#tools.set(entry, limits);
    return limits;
  }
}

function limitsOfBackend({ name, rate_limiting: settings, tools_override: overrides }: Backend): Limits {
  if (!settings) return NONE;
  const { general, byTool } = limitsOf(settings, ['backend', name]);
  const originals = new Map(Object.entries(overrides).map(([original, own]) => [own.name ?? original, original]));
  // Ignores a tool's former name: otherwise its limits would replace those under the tool's present name.
  const isLeft = (tool: string) => !originals.has(tool) && Object.hasOwn(overrides, tool);
  const shown = [...byTool].filter(([tool]) => !isLeft(tool));
  return { general, byTool: new Map(shown.map(([tool, limits]) => [originals.get(tool) ?? tool, limits])) };
}

function limitsOf({ rules, shared, per_user: perUser, tools }: RateLimiting, place: readonly string[]): Limits {
  const general: Limit[] = [];
  const byTool = new Map<string, Limit[]>();
  const add = (limit: Omit<Limit, 'id'>, tool?: string) => {
    const id = JSON.stringify([...place, tool ?? null, limit.perUser ? 'user' : 'all', limit.period]);
    const group = tool === undefined ? general : (byTool.get(tool) ?? []);
    addStricter(group, { id, ...limit });
    if (tool !== undefined) byTool.set(tool, group);
  };
  for (const { requests, per: period, scope, tool, on_store_failure: onStoreFailure } of rules)
    add({ requests, period, scope, perUser: scope === 'user', onStoreFailure }, tool);
  if (shared) add(limitOf(shared, 'global'));
  if (perUser) add(limitOf(perUser, 'user'));
  for (const { name, shared: ofAll, per_user: ofEach } of tools) {
    if (ofAll) add(limitOf(ofAll, 'tool'), name);
    if (ofEach) add(limitOf(ofEach, 'user'), name);
  }
  return { general, byTool };
}

/** A token bucket is an ordinary limit; it fails closed, as it has no setting for store failures. */
function limitOf({ max_tokens: requests, refill_period: period }: Bucket, scope: Limit['scope']): Omit<Limit, 'id'> {
  return { requests, period, scope, perUser: scope === 'user', onStoreFailure: 'closed' };
}

/** Two limits with the same count would charge each request twice, so only the stricter one applies. */
function addStricter(group: Limit[], limit: Limit): void {
  const at = group.findIndex(({ id }) => id === limit.id);
  const same = group[at];
  if (!same) {
    group.push(limit);
    return;
  }
  const stricter = limit.requests < same.requests ? limit : same;
  const closed = limit.onStoreFailure === 'closed' || same.onStoreFailure === 'closed';
  group[at] = { ...stricter, onStoreFailure: closed ? 'closed' : 'open' };
}
