import { type MemoryBounds, MEMORY_BOUNDS, SESSIONS_PER_USER } from './bounds.ts';
import { ExpiringRows } from './expiring-rows.ts';
import { HeldByUser } from './held-by-user.ts';
import { markUsed, openPlainTables, type PlainTables, putRow, redeemIn } from './plain-tables.ts';
import type { CodeRow, LinkRow, ActiveSession, SessionRow } from './rows.ts';
import { countUp, judgeGeneration, newSession, nextSession, refusalOf, secretOf, sessionEnd } from './session-rules.ts';
import type {
  Amendment,
  AssertionUse,
  AuthStorage,
  Finished,
  FinishedLogin,
  Held,
  Lease,
  PlainRows,
  Redeemed,
  Rotated,
  Rotation,
  Sizes,
  SlotSession,
} from './storage.ts';

interface Code {
  readonly row: CodeRow;
  readonly sub: string;
  readonly session: string | undefined;
}

type Links = ReadonlyMap<string, LinkRow>;

/** Returns the member of a user's set for an unredeemed code. It keeps the links alive after the last session ends. */
const waiting = (code: string) => `code:${code}`;
const codeOf = (held: string) => held.slice(waiting('').length);

class MemoryStorage implements AuthStorage {
  readonly kind = 'memory';
  readonly unacknowledged = 0;
  readonly #now: () => number;
  readonly #bounds: MemoryBounds;
  readonly #plain: PlainTables;
  readonly #codes: ExpiringRows<Code>;
  readonly #sessions: ExpiringRows<ActiveSession>;
  readonly #links: ExpiringRows<Links>;
  readonly #held = new HeldByUser(SESSIONS_PER_USER);
  readonly #leases: ExpiringRows<Lease>;
  readonly #counts: ExpiringRows<number>;

  constructor(now: () => number, bounds: MemoryBounds) {
    this.#now = now;
    this.#bounds = bounds;
    this.#plain = openPlainTables(now);
    this.#codes = new ExpiringRows(now, (id, { sub }) => this.#held.remove(sub, waiting(id)));
    this.#sessions = new ExpiringRows(now, (key, { sub }) => this.#held.remove(sub, key));
    this.#links = new ExpiringRows(now);
    this.#leases = new ExpiringRows(now);
    this.#counts = new ExpiringRows(now);
  }

  put<Kind extends keyof PlainRows>(
    kind: Kind,
    id: string,
    row: PlainRows[Kind],
    { lifespan, capacity = this.#bounds.rows }: { lifespan: number; capacity?: number },
  ): Promise<boolean> {
    return Promise.resolve(putRow(this.#plain, kind, id, { row, endsAt: this.#now() + lifespan, capacity }));
  }

  get<Kind extends keyof PlainRows>(kind: Kind, id: string): Promise<PlainRows[Kind] | undefined> {
    return Promise.resolve(this.#plain[kind].get(id));
  }

  take<Kind extends keyof PlainRows>(kind: Kind, id: string): Promise<PlainRows[Kind] | undefined> {
    const row = this.#plain[kind].get(id);
    this.#plain[kind].delete(id);
    return Promise.resolve(row);
  }

  remove(kind: keyof PlainRows, id: string): Promise<void> {
    this.#plain[kind].delete(id);
    return Promise.resolve();
  }

  touch(kind: keyof PlainRows, id: string, lifespan: number): Promise<void> {
    this.#plain[kind].lengthen(id, this.#now() + lifespan);
    return Promise.resolve();
  }

  finishLogin(login: FinishedLogin): Promise<Finished> {
    const { sub, links, code, lifespan } = login;
    const stored = new Map(this.#links.get(sub));
    const refusal = refusalOf((name) => stored.get(name), login);
    if (refusal) return Promise.resolve(refusal);
    for (const [name, link] of Object.entries(links))
      stored.set(name, { ...link, version: (stored.get(name)?.version ?? 0) + 1 });
    if (stored.size > 0) this.#storeLinks(sub, stored, this.#now() + lifespan);
    if (code) {
      this.#codes.evictFor(code.id, this.#bounds.codes, (id) => this.#dropCode(id));
      this.#codes.set(code.id, { row: code.row, sub, session: undefined }, this.#now() + code.lifespan);
      this.#hold(sub, waiting(code.id));
    }
    return Promise.resolve({ outcome: 'stored' });
  }

  getCode(id: string): Promise<CodeRow | undefined> {
    return Promise.resolve(this.#codes.get(id)?.row);
  }

  isCodeUnused(id: string): Promise<boolean> {
    const code = this.#codes.get(id);
    return Promise.resolve(code !== undefined && code.session === undefined);
  }

  redeemCode(id: string, session: { key: string; row: SessionRow; lifespan: number }): Promise<Redeemed> {
    const code = this.#codes.get(id);
    if (!code) return Promise.resolve({ outcome: 'unknown' });
    if (code.session !== undefined) return Promise.resolve({ outcome: 'replayed', session: code.session });
    const { key, row, lifespan } = session;
    const now = this.#now();
    this.#codes.replace(id, { ...code, session: key });
    this.#sessions.evictFor(key, this.#bounds.sessions, (oldest) => this.#end(oldest));
    this.#held.remove(code.sub, waiting(id));
    this.#keepSession(key, newSession(row, now), sessionEnd(row, lifespan, now));
    return Promise.resolve({ outcome: 'redeemed' });
  }

  useAssertion(id: string, lifespan: number): Promise<AssertionUse> {
    return Promise.resolve(markUsed(this.#plain, { id, lifespan }, { now: this.#now(), capacity: this.#bounds.rows }));
  }

  holdSession({ slot, key: newKey, row, lifespan, assertion }: SlotSession): Promise<Held> {
    const now = this.#now();
    const refusal = assertion && redeemIn(this.#plain, assertion, { now, capacity: this.#bounds.rows });
    if (refusal) return Promise.resolve({ outcome: refusal });
    const held = this.#plain.slot.get(slot)?.session;
    const key = held !== undefined && this.#sessions.get(held) ? held : newKey;
    const endsAt = sessionEnd(row, lifespan, now);
    this.#sessions.evictFor(key, this.#bounds.sessions, (oldest) => this.#end(oldest));
    this.#keepSession(key, newSession(row, now), endsAt);
    if (assertion) this.#links.lengthen(row.sub, now + assertion.linksLifespan);
    this.#plain.slot.evictFor(slot, this.#bounds.rows);
    this.#plain.slot.set(slot, { session: key }, endsAt);
    return Promise.resolve({ outcome: 'held', key });
  }

  getSession(key: string): Promise<ActiveSession | undefined> {
    return Promise.resolve(this.#sessions.get(key));
  }

  rotateSession(key: string, rotation: Rotation): Promise<Rotated> {
    const session = this.#sessions.get(key);
    if (!session) return Promise.resolve({ outcome: 'unknown' });
    const now = this.#now();
    const judged = judgeGeneration(session, rotation, now, (name) => this.#links.get(session.sub)?.get(name));
    if (judged === 'unknown' || judged === 'login_needed') return Promise.resolve({ outcome: judged });
    if (judged === 'same') return Promise.resolve({ outcome: 'rotated', session });
    if (judged === 'replayed') {
      this.#end(key);
      return Promise.resolve({ outcome: 'replayed', sub: session.sub });
    }
    const next = nextSession(session, rotation, now);
    this.#keepSession(key, next, sessionEnd(session, rotation.lifespan, now));
    return Promise.resolve({ outcome: 'rotated', session: next });
  }

  amendSession(key: string, changes: Amendment): Promise<void> {
    const session = this.#sessions.get(key);
    if (session) this.#sessions.replace(key, { ...session, ...changes });
    return Promise.resolve();
  }

  endSession(key: string): Promise<void> {
    this.#end(key);
    return Promise.resolve();
  }

  endUser(sub: string): Promise<void> {
    for (const held of this.#held.of(sub)) this.#drop(held);
    this.#links.delete(sub);
    return Promise.resolve();
  }

  sessionsOf(sub: string): Promise<readonly string[]> {
    return Promise.resolve(this.#held.of(sub).filter((key) => this.#sessions.get(key) !== undefined));
  }

  linksOf(sub: string): Promise<Readonly<Record<string, LinkRow>>> {
    return Promise.resolve(Object.fromEntries(this.#links.get(sub) ?? []));
  }

  getLink(sub: string, provider: string): Promise<LinkRow | undefined> {
    return Promise.resolve(this.#links.get(sub)?.get(provider));
  }

  replaceLink(sub: string, provider: string, version: number, row: LinkRow): Promise<boolean> {
    const links = this.#links.get(sub);
    if (links?.get(provider)?.version !== version) return Promise.resolve(false);
    this.#links.replace(sub, new Map(links).set(provider, { ...row, version: version + 1 }));
    return Promise.resolve(true);
  }

  unlink(sub: string, provider: string): Promise<void> {
    const links = new Map(this.#links.get(sub));
    links.delete(provider);
    if (links.size > 0) this.#links.replace(sub, links);
    else this.#links.delete(sub);
    return Promise.resolve();
  }

  lease(name: string, lifespan: number): Promise<Lease | undefined> {
    if (this.#leases.get(name) || !this.#leases.fits(name, this.#bounds.leases)) return Promise.resolve(undefined);
    const lease: Lease = {
      release: () => {
        if (this.#leases.get(name) === lease) this.#leases.delete(name);
        return Promise.resolve();
      },
    };
    this.#leases.set(name, lease, this.#now() + lifespan);
    return Promise.resolve(lease);
  }

  count(bucket: string, window: number): Promise<number> {
    const counted = (this.#counts.get(bucket) ?? 0) + 1;
    if (counted > 1) this.#counts.replace(bucket, counted);
    else {
      this.#counts.evictFor(bucket, this.#bounds.buckets);
      this.#counts.set(bucket, counted, this.#now() + window);
    }
    return Promise.resolve(counted);
  }

  sizes(): Promise<Sizes> {
    const { client, login } = this.#plain;
    let links = 0;
    for (const { size } of this.#links.rows()) links += size;
    return Promise.resolve({ clients: client.size, logins: login.size, sessions: this.#sessions.size, links });
  }

  secretsInUse(): Promise<Readonly<Record<string, number>>> {
    const counts: Record<string, number> = {};
    for (const { kid } of this.#sessions.rows()) countUp(counts, kid);
    for (const links of this.#links.rows()) for (const { sealed } of links.values()) countUp(counts, secretOf(sealed));
    return Promise.resolve(counts);
  }

  close(): Promise<void> {
    return Promise.resolve();
  }

  #keepSession(key: string, session: ActiveSession, endsAt: number): void {
    this.#sessions.set(key, session, endsAt);
    this.#links.lengthen(session.sub, endsAt);
    this.#hold(session.sub, key);
  }

  #storeLinks(sub: string, links: Links, endsAt: number): void {
    this.#links.evictFor(sub, this.#bounds.users);
    this.#links.set(sub, links, Math.max(endsAt, this.#links.endOf(sub) ?? 0));
  }

  #hold(sub: string, held: string): void {
    for (const oldest of this.#held.add(sub, held)) this.#drop(oldest);
  }

  #holdsAny(sub: string): boolean {
    // Reading an expired entry removes it from the set.
    for (const held of this.#held.of(sub)) {
      if (held.startsWith(waiting('')) ? this.#codes.get(codeOf(held)) : this.#sessions.get(held)) return true;
    }
    return false;
  }

  #end(key: string): void {
    const session = this.#sessions.get(key);
    if (!session) return;
    this.#sessions.delete(key);
    this.#held.remove(session.sub, key);
    if (!this.#holdsAny(session.sub)) this.#links.delete(session.sub);
  }

  #dropCode(id: string): void {
    const code = this.#codes.get(id);
    this.#codes.delete(id);
    if (code) this.#held.remove(code.sub, waiting(id));
  }

  #drop(held: string): void {
    if (held.startsWith(waiting(''))) this.#dropCode(codeOf(held));
    else this.#end(held);
  }
}

/** Lost with the process. Each kind is bounded, and the oldest row is removed for a new one, except clients and leases. */
export function createMemoryStorage(options: {
  readonly now: () => number;
  readonly bounds?: Partial<MemoryBounds>;
}): AuthStorage {
  return new MemoryStorage(options.now, { ...MEMORY_BOUNDS, ...options.bounds });
}
