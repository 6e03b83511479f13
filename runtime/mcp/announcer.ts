import type { ListKind } from './aggregate/list-kinds.ts';
import type { Session } from './sessions/session.ts';

/** A subscription of the stateless revision. */
interface ChangeListener {
  /** `Identity.key` of who listens; absent: what changes for one principal alone does not concern it. */
  readonly principal?: string;
  /** The aggregated lists have changed, perhaps because backends came or went. */
  changed(kinds: ReadonlySet<ListKind>): void;
  /** The gateway ends: there will be no more changes. */
  end(): void;
}

export interface Announcer {
  /** A backend's list changed: caches are dropped now, clients told soon. `told`: this session knows already. */
  listChanged(backend: string | undefined, kinds: readonly ListKind[], told?: Session): void;
  /** Clients are told that these lists are others now, and nothing is dropped. */
  announce(kinds: readonly ListKind[]): void;
  /** The same for the clients of one principal (`Identity.key`): what it sees has changed, and nobody else's lists. */
  announceTo(principal: string, kinds: readonly ListKind[]): void;
  /** Until the returned function is called. */
  subscribe(listener: ChangeListener): () => void;
  /** Ends all subscriptions. */
  close(): void;
}

/** Many sessions' streams tell of the same change; clients are told of it once. */
const GATHER = 100;
const NONE: ReadonlySet<ListKind> = new Set();

interface AnnouncerDeps {
  /** Drops what is cached of these lists. */
  readonly invalidate: (backend: string | undefined, kinds: readonly ListKind[]) => void;
  readonly sessions: () => Iterable<Session>;
  /** Milliseconds of the monotonic clock. */
  readonly now: () => number;
}

export function createAnnouncer(deps: AnnouncerDeps): Announcer {
  const listeners = new Set<ChangeListener>();
  let gathered = nothing();
  let timer: NodeJS.Timeout | undefined;
  let changedAt = 0;

  const tell = () => {
    timer = undefined;
    const { kinds, told, personal } = gathered;
    gathered = nothing();
    for (const session of deps.sessions()) {
      // A session that is younger than the change has never seen the lists as they were.
      if (session.openedAt > changedAt) continue;
      tellSession(session, together(told.has(session) ? NONE : kinds, personal.get(session.principal)));
    }
    for (const listener of listeners) {
      const changed = together(kinds, personal.get(listener.principal ?? ''));
      if (changed.size > 0) listener.changed(changed);
    }
  };

  const soon = () => {
    changedAt = deps.now();
    timer ??= setTimeout(tell, GATHER).unref();
  };

  const announce = (kinds: readonly ListKind[]) => {
    for (const kind of kinds) gathered.kinds.add(kind);
    soon();
  };

  return {
    announce,
    announceTo(principal, kinds) {
      const { personal } = gathered;
      personal.set(principal, together(new Set(kinds), personal.get(principal)));
      soon();
    },
    listChanged(backend, kinds, knows) {
      deps.invalidate(backend, kinds);
      if (knows) gathered.told.add(knows);
      announce(kinds);
    },
    subscribe(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    close() {
      clearTimeout(timer);
      for (const listener of [...listeners]) listener.end();
      listeners.clear();
    },
  };
}

type Kinds = ReadonlySet<ListKind>;

/** What has changed since clients were told last. */
function nothing() {
  return {
    /** For everybody. */
    kinds: new Set<ListKind>(),
    /** Who knows of that already. */
    told: new Set<Session>(),
    /** For one principal alone. */
    personal: new Map<string, Kinds>(),
  };
}

function together(kinds: Kinds, more: Kinds | undefined): Kinds {
  return more ? new Set([...kinds, ...more]) : kinds;
}

function tellSession(session: Session, kinds: Kinds): void {
  if (kinds.size === 0) return;
  if (session.stream) session.stream.announce(kinds);
  else session.changed = new Set([...(session.changed ?? []), ...kinds]);
}
