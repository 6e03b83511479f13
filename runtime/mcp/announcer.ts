import type { ListKind } from './aggregate/list-kinds.ts';
import type { Session } from './sessions/session.ts';

/** A subscription of the stateless revision. */
interface ChangeListener {
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
  /** Until the returned function is called. */
  subscribe(listener: ChangeListener): () => void;
  /** Ends all subscriptions. */
  close(): void;
}

/** Many sessions' streams tell of the same change; clients are told of it once. */
const GATHER = 100;

interface AnnouncerDeps {
  /** Drops what is cached of these lists. */
  readonly invalidate: (backend: string | undefined, kinds: readonly ListKind[]) => void;
  readonly sessions: () => Iterable<Session>;
  /** Milliseconds of the monotonic clock. */
  readonly now: () => number;
}

export function createAnnouncer(deps: AnnouncerDeps): Announcer {
  const listeners = new Set<ChangeListener>();
  let gathered = new Set<ListKind>();
  let told = new Set<Session>();
  let timer: NodeJS.Timeout | undefined;
  let changedAt = 0;

  const tell = () => {
    timer = undefined;
    const kinds = gathered;
    const already = told;
    gathered = new Set();
    told = new Set();
    for (const session of deps.sessions()) {
      // A session that is younger than the change has never seen the lists as they were.
      if (already.has(session) || session.openedAt > changedAt) continue;
      if (session.stream) session.stream.announce(kinds);
      else session.changed = new Set([...(session.changed ?? []), ...kinds]);
    }
    for (const listener of listeners) listener.changed(kinds);
  };

  const announce = (kinds: readonly ListKind[]) => {
    for (const kind of kinds) gathered.add(kind);
    changedAt = deps.now();
    timer ??= setTimeout(tell, GATHER).unref();
  };

  return {
    announce,
    listChanged(backend, kinds, knows) {
      deps.invalidate(backend, kinds);
      if (knows) told.add(knows);
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
