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
  /** The same, as a backend said in a session: other replicas may not have heard it. */
  heardChange(backend: string, kinds: readonly ListKind[], told?: Session): void;
  /** Whether anything has changed since then, in milliseconds of the monotonic clock. */
  changedSince(time: number): boolean;
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
  /** Lets other replicas know at once; absent: there are none. */
  readonly tellOthers?: (backend: string, kinds: readonly ListKind[]) => void;
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
    const changes = gathered;
    const { kinds, personal, heard } = changes;
    gathered = nothing();
    tellAgain(heard, deps);
    // A session that is younger than the change has never seen the lists as they were.
    for (const session of deps.sessions()) if (session.openedAt <= changedAt) tellSession(session, changes);
    for (const listener of listeners) tellListener(listener, together(kinds, personal.get(listener.principal ?? '')));
  };

  const soon = () => {
    changedAt = deps.now();
    timer ??= setTimeout(tell, GATHER).unref();
  };

  const announce = (kinds: readonly ListKind[]) => {
    for (const kind of kinds) gathered.kinds.add(kind);
    soon();
  };
  const listChanged: Announcer['listChanged'] = (backend, kinds, knows) => {
    deps.invalidate(backend, kinds);
    if (knows) gathered.told.add(knows);
    announce(kinds);
  };

  return {
    announce,
    listChanged,
    heardChange(backend, kinds, knows) {
      listChanged(backend, kinds, knows);
      tellOthers(gathered.heard, backend, kinds, deps);
    },
    changedSince: (time) => changedAt > time,
    announceTo(principal, kinds) {
      gathered.personal.set(principal, together(new Set(kinds), gathered.personal.get(principal)));
      soon();
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
    /** Backends of whose change others were told, and what changed there since: it is told again, as they may have asked before. */
    heard: new Map() as Heard,
  };
}

function together(kinds: Kinds, more: Kinds | undefined): Kinds {
  return more ? new Set([...kinds, ...more]) : kinds;
}

type Heard = Map<string, Set<ListKind>>;

/** At once of a backend's first change; what follows soon is told with the rest. */
function tellOthers(heard: Heard, backend: string, kinds: readonly ListKind[], deps: AnnouncerDeps): void {
  const again = heard.get(backend);
  for (const kind of kinds) again?.add(kind);
  if (again) return;
  heard.set(backend, new Set());
  deps.tellOthers?.(backend, kinds);
}

function tellAgain(heard: Heard, { tellOthers: tell }: AnnouncerDeps): void {
  for (const [backend, again] of heard) if (again.size > 0) tell?.(backend, [...again]);
}

function tellListener(listener: ChangeListener, kinds: Kinds): void {
  if (kinds.size > 0) listener.changed(kinds);
}

function tellSession(session: Session, changes: ReturnType<typeof nothing>): void {
  const general = changes.told.has(session) ? NONE : changes.kinds;
  const kinds = together(general, changes.personal.get(session.principal));
  if (kinds.size === 0) return;
  if (session.stream) session.stream.announce(kinds);
  else session.changed = new Set([...(session.changed ?? []), ...kinds]);
}
