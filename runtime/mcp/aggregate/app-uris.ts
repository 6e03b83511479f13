import { APP_SCHEME, appsOf } from './app-references.ts';
import type { BackendList } from './fetch-list.ts';
import type { ListCache } from './list-cache.ts';
import type { ListKind } from './list-kinds.ts';

/** URIs of one backend. At this limit, it forgets the least recently used URI that no list needs. */
const MAX_URIS = 2_000;

/** The apps of one backend that clients see at another URI, in both directions. */
export interface AppAliases {
  readonly toAlias: ReadonlyMap<string, string>;
  readonly toOwn: ReadonlyMap<string, string>;
}

interface AppOwner {
  readonly backend: string;
  /** The backend's own URI. */
  readonly uri: string;
}

const KINDS = ['tools', 'resources'] as const;
const NO_URIS = new Map<string, number>();

export interface AppUrisOptions {
  /** Returns the backends in configuration order. */
  readonly backends: () => readonly { readonly name: string }[];
  readonly lists: Pick<ListCache, 'listsOf'>;
  /** Milliseconds for which an idle session may still use a URI. */
  readonly sessionIdle: () => number;
  readonly now: () => number;
}

/**
 * The apps (`ui://` URIs) of all backends. A host caches apps by their URI, so two backends must not share one: all but
 * the first in configuration order get `ui://<backend>.<rest>`.
 */
export class AppUris {
  /** Backend to the URIs that it lists, or that its tools name, with the time of their last use. Oldest first. */
  readonly #claims = new Map<string, Map<string, number>>();
  readonly #options: AppUrisOptions;
  #owners = new Map<string, AppOwner>();
  #aliases = new Map<string, { toAlias: Map<string, string>; toOwn: Map<string, string> }>();

  constructor(options: AppUrisOptions) {
    this.#options = options;
  }

  /** Returns whether the URI of an app of another backend has changed. */
  learn(backend: string, kind: ListKind, { entries }: BackendList): boolean {
    const isNew = uris(kind, entries).filter((uri) => this.#claim(uri, backend)).length > 0;
    return isNew && this.assign();
  }

  /** Assigns the URIs anew, as after a change of the configuration. Returns whether an alias has changed. */
  assign(): boolean {
    const before = this.#describe();
    const order = this.#options.backends().map(({ name }) => name);
    for (const backend of this.#claims.keys()) if (!order.includes(backend)) this.#claims.delete(backend);
    this.#owners = new Map();
    this.#aliases = new Map();
    for (const backend of order)
      for (const uri of this.#urisOf(backend).keys())
        if (this.#owners.has(uri)) this.#addAlias(backend, uri);
        else this.#owners.set(uri, { backend, uri });
    // No alias takes the URI of another app.
    for (const [backend, { toOwn }] of this.#aliases)
      for (const [alias, uri] of toOwn) if (!this.#owners.has(alias)) this.#owners.set(alias, { backend, uri });
    return before !== this.#describe();
  }

  /** Undefined: every app of the backend keeps its URI. */
  aliasesOf(backend: string): AppAliases | undefined {
    return this.#aliases.get(backend);
  }

  /** Returns the backend with the app that clients see at this URI. */
  ownerOf(uri: string): AppOwner | undefined {
    return this.#owners.get(uri);
  }

  /** Returns the same, and notes the use. */
  use(uri: string): AppOwner | undefined {
    const owner = this.#owners.get(uri);
    if (owner) this.#touch(owner.uri, owner.backend);
    return owner;
  }

  isKnown(uri: string, backend: string): boolean {
    return this.#urisOf(backend).has(uri);
  }

  has(backend: string): boolean {
    return this.#urisOf(backend).size > 0;
  }

  /** Returns the URIs of each backend that clients see at another URI. */
  renamed(): [backend: string, uris: string[]][] {
    return [...this.#aliases].map(([backend, { toAlias }]) => [backend, [...toAlias.keys()]]);
  }

  #urisOf(backend: string): Map<string, number> {
    return this.#claims.get(backend) ?? NO_URIS;
  }

  /** Returns whether the URI is new. */
  #claim(uri: string, backend: string): boolean {
    const isNew = !this.isKnown(uri, backend);
    if (isNew && this.#urisOf(backend).size >= MAX_URIS && !this.#forgetOldest(backend)) return false;
    this.#touch(uri, backend);
    return isNew;
  }

  #touch(uri: string, backend: string): void {
    const known = this.#claims.get(backend) ?? new Map<string, number>();
    known.delete(uri);
    this.#claims.set(backend, known.set(uri, this.#options.now()));
  }

  /** Returns whether the backend has a URI that neither an open session nor a list needs. */
  #forgetOldest(backend: string): boolean {
    const oldest = this.#findOld(backend);
    if (oldest === undefined) return false;
    // Lists of absent backends are not fetched again, so their URIs look unused.
    const { lists } = this.#options;
    for (const kind of KINDS)
      for (const { entries } of lists.listsOf(backend, kind))
        for (const uri of uris(kind, entries)) if (this.isKnown(uri, backend)) this.#touch(uri, backend);
    const unused = this.#findOld(backend);
    return unused !== undefined && this.#urisOf(backend).delete(unused);
  }

  #findOld(backend: string): string | undefined {
    const { now, sessionIdle } = this.#options;
    const [oldest] = this.#urisOf(backend);
    return oldest !== undefined && oldest[1] <= now() - sessionIdle() ? oldest[0] : undefined;
  }

  #describe(): string {
    return JSON.stringify([...this.#aliases].map(([backend, { toAlias }]) => [backend, [...toAlias.keys()].sort()]));
  }

  #addAlias(backend: string, uri: string): void {
    const alias = `${APP_SCHEME}${backend}.${uri.slice(APP_SCHEME.length)}`;
    const aliases = this.#aliases.get(backend) ?? {
      toAlias: new Map<string, string>(),
      toOwn: new Map<string, string>(),
    };
    aliases.toAlias.set(uri, alias);
    aliases.toOwn.set(alias, uri);
    this.#aliases.set(backend, aliases);
  }
}

function uris(kind: ListKind, entries: BackendList['entries']): readonly string[] {
  if (kind === 'tools') return entries.flatMap(({ text }) => appsOf(text));
  return kind === 'resources' ? entries.map(({ name }) => name).filter((uri) => uri.startsWith(APP_SCHEME)) : [];
}
