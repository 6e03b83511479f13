import { APP_SCHEME, appsOf } from './app-references.ts';
import type { BackendList } from './fetch-list.ts';
import type { ListKind } from './list-kinds.ts';

/** URIs of one backend. Tools with other apps are offered without them. */
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

/**
 * The apps (`ui://` URIs) of all backends. A host caches apps by their URI, so two backends must not share one: all but
 * the first in configuration order get `ui://<backend>.<rest>`.
 */
export class AppUris {
  /** Backends that list the URI, or whose tools name it. */
  readonly #claims = new Map<string, Set<string>>();
  readonly #counts = new Map<string, number>();
  readonly #order: () => readonly string[];
  #owners = new Map<string, AppOwner>();
  #aliases = new Map<string, { toAlias: Map<string, string>; toOwn: Map<string, string> }>();

  /** `order`: names of the backends, in configuration order. */
  constructor(order: () => readonly string[]) {
    this.#order = order;
  }

  /** Returns whether the URI of an app of another backend has changed. */
  learn(backend: string, kind: ListKind, { entries }: BackendList): boolean {
    const isNew = uris(kind, entries).filter((uri) => this.#claim(uri, backend)).length > 0;
    return isNew && this.assign();
  }

  /** Assigns the URIs anew, as after a change of the configuration. Returns whether an alias has changed. */
  assign(): boolean {
    const before = this.#describe();
    const order = this.#order();
    this.#owners = new Map();
    this.#aliases = new Map();
    for (const [uri, backends] of this.#claims) {
      const [first, ...others] = order.filter((name) => backends.has(name));
      if (first !== undefined) this.#owners.set(uri, { backend: first, uri });
      for (const backend of others) this.#addAlias(backend, uri);
    }
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

  isKnown(uri: string, backend: string): boolean {
    return this.#claims.get(uri)?.has(backend) === true;
  }

  #claim(uri: string, backend: string): boolean {
    const count = this.#counts.get(backend) ?? 0;
    if (this.isKnown(uri, backend) || count >= MAX_URIS) return false;
    this.#counts.set(backend, count + 1);
    this.#claims.set(uri, (this.#claims.get(uri) ?? new Set()).add(backend));
    return true;
  }

  #describe(): string {
    return JSON.stringify([...this.#aliases].map(([backend, aliases]) => [backend, ...aliases.toAlias.keys()]));
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
    if (!this.#claims.has(alias)) this.#owners.set(alias, { backend, uri });
  }
}

function uris(kind: ListKind, entries: BackendList['entries']): readonly string[] {
  if (kind === 'tools') return entries.flatMap(({ text }) => appsOf(text));
  return kind === 'resources' ? entries.map(({ name }) => name).filter((uri) => uri.startsWith(APP_SCHEME)) : [];
}
