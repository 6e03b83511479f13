import type { ListKind } from './aggregate/list-kinds.ts';
import type { Session } from './sessions/session.ts';

interface ChangeListener {
  /** `Identity.key`. Absent: changes for a single principal do not concern it. */
  readonly principal?: string;
  changed(kinds: ReadonlySet<ListKind>): void;
  /** The gateway stops. */
  end(): void;
}

export interface ListChangedNotifier {
  /** Drops caches now and notifies clients soon. `told`: a session that already knows. */
  listChanged(backend: string | undefined, kinds: readonly ListKind[], told?: Session): void;
  /** A backend announced the change in a session, so other replicas may not know it yet. */
  noteChange(backend: string, kinds: readonly ListKind[], told?: Session): void;
  /** `time`: milliseconds of the monotonic clock. */
  changedSince(time: number): boolean;
  announce(kinds: readonly ListKind[]): void;
  /** `principal`: `Identity.key`. */
  announceTo(principal: string, kinds: readonly ListKind[]): void;
  subscribe(listener: ChangeListener): () => void;
  close(): void;
}

/** Milliseconds. Streams of many sessions report the same change, and clients get one notification. */
const GATHER = 100;
const NONE: ReadonlySet<ListKind> = new Set();

interface ListChangedNotifierDeps {
  readonly invalidate: (backend: string | undefined, kinds: readonly ListKind[]) => void;
  readonly sessions: () => Iterable<Session>;
  /** Absent: there are no other replicas. */
  readonly tellOthers?: (backend: string, kinds: readonly ListKind[]) => void;
  /** Milliseconds of the monotonic clock. */
  readonly now: () => number;
}

export function createListChangedNotifier(deps: ListChangedNotifierDeps): ListChangedNotifier {
  const listeners = new Set<ChangeListener>();
  let gathered = nothing();
  let timer: NodeJS.Timeout | undefined;
  let changedAt = 0;

  const tell = () => {
    timer = undefined;
    const changes = gathered;
    const { kinds, personal, toldElsewhere } = changes;
    gathered = nothing();
    tellAgain(toldElsewhere, deps);
    // A session that is younger than the change never saw the former lists.
    for (const session of deps.sessions()) if (session.openedAt <= changedAt) tellSession(session, changes);
    for (const listener of listeners) tellListener(listener, together(kinds, personal.get(listener.principal ?? '')));
  };

  const soon = () => {
    changedAt = deps.now();
    timer ??= setTimeout(tell, GATHER).unref();
  };

  const announce = (kinds: readonly ListKind[]) => {
    for (const kind of kinds) gathered.kinds.add(kind);
    if (kinds.length > 0) soon();
  };
  const listChanged: ListChangedNotifier['listChanged'] = (backend, kinds, knows) => {
    deps.invalidate(backend, kinds);
    if (knows) gathered.told.add(knows);
    announce(kinds);
  };

  return {
    announce,
    listChanged,
    noteChange(backend, kinds, knows) {
      listChanged(backend, kinds, knows);
      tellOthers(gathered.toldElsewhere, backend, kinds, deps);
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

function nothing() {
  return {
    kinds: new Set<ListKind>(),
    told: new Set<Session>(),
    personal: new Map<string, Kinds>(),
    /** Later changes after the first, which was sent. They are sent again, as replicas may have listed in between. */
    toldElsewhere: new Map() as ToldElsewhere,
  };
}

function together(kinds: Kinds, more: Kinds | undefined): Kinds {
  return more ? new Set([...kinds, ...more]) : kinds;
}

type ToldElsewhere = Map<string, Set<ListKind>>;

function tellOthers(
  toldElsewhere: ToldElsewhere,
  backend: string,
  kinds: readonly ListKind[],
  deps: ListChangedNotifierDeps,
): void {
  const again = toldElsewhere.get(backend);
  for (const kind of kinds) again?.add(kind);
  if (again) return;
  toldElsewhere.set(backend, new Set());
  deps.tellOthers?.(backend, kinds);
}

function tellAgain(toldElsewhere: ToldElsewhere, { tellOthers: tell }: ListChangedNotifierDeps): void {
  for (const [backend, again] of toldElsewhere) if (again.size > 0) tell?.(backend, [...again]);
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
