import { ROWS_OF_A_KIND } from './bounds.ts';
import type { CodeRow, LinkRow, ActiveSession, SessionRow } from './rows.ts';
import { judgeGeneration, newSession, nextSession, refusalOf, secretOf, sessionEnd } from './session-rules.ts';
import { openDatabase, type SqliteDatabase } from '#runtime/storage/sqlite/database';
import * as plain from './sqlite/plain-rows.ts';
import { type Columns, rowOf } from './sqlite/plain-rows.ts';
import { LOGINS } from './sqlite/schema.ts';
import * as sql from './sqlite/statements.ts';
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

class SqliteStorage implements AuthStorage {
  readonly kind = 'sqlite';
  readonly unacknowledged = 0;
  readonly #database: SqliteDatabase;
  readonly #newId: () => string;

  constructor(database: SqliteDatabase, newId: () => string) {
    this.#database = database;
    this.#newId = newId;
  }

  put<Kind extends keyof PlainRows>(
    kind: Kind,
    id: string,
    row: PlainRows[Kind],
    { lifespan, capacity = ROWS_OF_A_KIND }: { lifespan: number; capacity?: number },
  ): Promise<boolean> {
    return this.#database.write((now) => plain.put(this.#database, kind, id, { row, now, lifespan, capacity }));
  }

  get<Kind extends keyof PlainRows>(kind: Kind, id: string): Promise<PlainRows[Kind] | undefined> {
    return this.#database.read((now) => plain.get(this.#database, kind, id, now));
  }

  take<Kind extends keyof PlainRows>(kind: Kind, id: string): Promise<PlainRows[Kind] | undefined> {
    return this.#database.write((now) => {
      const row = plain.get(this.#database, kind, id, now);
      this.#database.run(sql.REMOVE, kind, id);
      return row;
    });
  }

  remove(kind: keyof PlainRows, id: string): Promise<void> {
    return this.#database.write(() => void this.#database.run(sql.REMOVE, kind, id));
  }

  touch(kind: keyof PlainRows, id: string, lifespan: number): Promise<void> {
    return this.#database.write(
      (now) => void this.#database.run(sql.LENGTHEN, now + lifespan, kind, id, now, now + lifespan),
    );
  }

  finishLogin(login: FinishedLogin): Promise<Finished> {
    const { sub, links, code, lifespan } = login;
    return this.#database.write((now): Finished => {
      const refusal = refusalOf((name) => this.#link(sub, name, now), login);
      if (refusal) return refusal;
      this.#putLinks(sub, links, now, now + lifespan);
      if (code) this.#database.run(sql.PUT_CODE, code.id, sub, JSON.stringify(code.row), now + code.lifespan);
      if (code) this.#endExcess(sub, code.id, now);
      return { outcome: 'stored' };
    });
  }

  getCode(id: string): Promise<CodeRow | undefined> {
    return this.#database.read((now) => rowOf('code', this.#database.row(sql.GET_CODE, id, now)));
  }

  isCodeUnused(id: string): Promise<boolean> {
    return this.#database.read((now) => this.#database.row(sql.GET_CODE, id, now)?.session === null);
  }

  redeemCode(id: string, session: { key: string; row: SessionRow; lifespan: number }): Promise<Redeemed> {
    return this.#database.write((now): Redeemed => {
      const code = this.#database.row(sql.GET_CODE, id, now);
      if (!code) return { outcome: 'unknown' };
      if (code.session !== null) return { outcome: 'replayed', session: String(code.session) };
      const { key, row, lifespan } = session;
      this.#database.run(sql.USE_CODE, key, id);
      this.#putSession(key, newSession(row, now), now, sessionEnd(row, lifespan, now));
      this.#endExcess(row.sub, key, now);
      return { outcome: 'redeemed' };
    });
  }

  useAssertion(id: string, lifespan: number): Promise<AssertionUse> {
    return this.#database.write((now) => plain.markUsed(this.#database, { id, lifespan }, now));
  }

  holdSession({ slot, key: newKey, row, lifespan, assertion }: SlotSession): Promise<Held> {
    return this.#database.write((now): Held => {
      const use = assertion === undefined ? 'used' : plain.redeem(this.#database, assertion, now);
      if (use !== 'used') return { outcome: use };
      const held = plain.get(this.#database, 'slot', slot, now)?.session;
      const key = held !== undefined && this.#session(held, now) ? held : newKey;
      const endsAt = sessionEnd(row, lifespan, now);
      this.#putSession(key, newSession(row, now), now, endsAt, assertion?.linksLifespan);
      this.#endExcess(row.sub, key, now);
      this.#database.run(sql.PUT, 'slot', slot, JSON.stringify({ session: key }), endsAt);
      return { outcome: 'held', key };
    });
  }

  getSession(key: string): Promise<ActiveSession | undefined> {
    return this.#database.read((now) => this.#session(key, now));
  }

  rotateSession(key: string, rotation: Rotation): Promise<Rotated> {
    return this.#database.write((now): Rotated => {
      const session = this.#session(key, now);
      if (!session) return { outcome: 'unknown' };
      const judged = judgeGeneration(session, rotation, now, (provider) => this.#link(session.sub, provider, now));
      switch (judged) {
        case 'unknown':
        case 'login_needed':
          return { outcome: judged };
        case 'same':
          return { outcome: 'rotated', session };
        case 'replayed':
          this.#end(key, session.sub, now);
          return { outcome: 'replayed', sub: session.sub };
        case 'next': {
          const next = nextSession(session, rotation, now);
          this.#putSession(key, next, now, sessionEnd(session, rotation.lifespan, now));
          return { outcome: 'rotated', session: next };
        }
      }
    });
  }

  amendSession(key: string, changes: Amendment): Promise<void> {
    return this.#database.write((now) => {
      const session = this.#session(key, now);
      const row = JSON.stringify({ ...session, ...changes });
      if (session) this.#database.run(sql.AMEND_SESSION, row, key);
    });
  }

  endSession(key: string): Promise<void> {
    return this.#database.write((now) => {
      const session = this.#session(key, now);
      if (session) this.#end(key, session.sub, now);
    });
  }

  endUser(sub: string): Promise<void> {
    return this.#database.write(() => {
      this.#database.run(sql.END_SESSIONS_OF, sub);
      this.#database.run(sql.END_CODES_OF, sub);
      this.#database.run(sql.END_LINKS, sub);
    });
  }

  sessionsOf(sub: string): Promise<readonly string[]> {
    return this.#database.read((now) => this.#database.rows(sql.SESSIONS_OF, sub, now).map(({ id }) => String(id)));
  }

  linksOf(sub: string): Promise<Readonly<Record<string, LinkRow>>> {
    return this.#database.read((now) => {
      const links = this.#database.rows(sql.LINKS_OF, sub, now).flatMap((columns) => {
        const link = linkOf(columns);
        return link ? [[String(columns.provider), link] as const] : [];
      });
      return Object.fromEntries(links);
    });
  }

  getLink(sub: string, provider: string): Promise<LinkRow | undefined> {
    return this.#database.read((now) => this.#link(sub, provider, now));
  }

  replaceLink(sub: string, provider: string, version: number, row: LinkRow): Promise<boolean> {
    return this.#database.write((now) => {
      const values = [secretOf(row.sealed), JSON.stringify(row), sub, provider, version, now];
      return this.#database.run(sql.REPLACE_LINK, ...values) === 1;
    });
  }

  unlink(sub: string, provider: string): Promise<void> {
    return this.#database.write(() => void this.#database.run(sql.UNLINK, sub, provider));
  }

  lease(name: string, lifespan: number): Promise<Lease | undefined> {
    const holder = this.#newId();
    const lease: Lease = {
      release: () => this.#database.write(() => void this.#database.run(sql.RELEASE, name, holder)),
    };
    return this.#database.write((now) =>
      this.#database.run(sql.LEASE, name, holder, now + lifespan, now) === 1 ? lease : undefined,
    );
  }

  count(bucket: string, window: number): Promise<number> {
    return this.#database.write((now) => Number(this.#database.row(sql.COUNT, bucket, now + window, now)?.counted));
  }

  sizes(): Promise<Sizes> {
    return this.#database.read((now) => {
      const { clients, logins, sessions, links } = this.#database.row(sql.SIZES, now) ?? {};
      return {
        clients: Number(clients),
        logins: Number(logins),
        sessions: Number(sessions),
        links: Number(links),
      };
    });
  }

  secretsInUse(): Promise<Readonly<Record<string, number>>> {
    return this.#database.read((now) =>
      Object.fromEntries(
        this.#database.rows(sql.SECRETS_IN_USE, now).map(({ kid, needed }) => [String(kid), Number(needed)]),
      ),
    );
  }

  close(): Promise<void> {
    this.#database.close();
    return Promise.resolve();
  }

  #session(key: string, now: number): ActiveSession | undefined {
    return rowOf('session', this.#database.row(sql.GET_SESSION, key, now));
  }

  #putSession(key: string, session: ActiveSession, now: number, endsAt: number, linksLifespan = 0): void {
    const { sub, kid } = session;
    const linksEnd = Math.max(endsAt, now + linksLifespan);
    this.#database.run(sql.PUT_SESSION, key, sub, kid, JSON.stringify(session), endsAt);
    this.#database.run(sql.LENGTHEN_LINKS, linksEnd, sub, now, linksEnd);
  }

  #end(key: string, sub: string, now: number): void {
    this.#database.run(sql.END_SESSION, key);
    if (!this.#database.row(sql.HELD_ANY, sub, now)) this.#database.run(sql.END_LINKS, sub);
  }

  #endExcess(sub: string, newest: string, now: number): void {
    for (const { id, held } of this.#database.rows(sql.HELD_OVER, sub, now, newest)) {
      if (held === 'code') this.#database.run(sql.END_CODE, String(id));
      else this.#end(String(id), sub, now);
    }
  }

  #link(sub: string, provider: string, now: number): LinkRow | undefined {
    return linkOf(this.#database.row(sql.GET_LINK, sub, provider, now));
  }

  /** All links of a user end at the same time. */
  #putLinks(sub: string, links: FinishedLogin['links'], now: number, wanted: number): void {
    const endsAt = Math.max(wanted, Number(this.#database.row(sql.LINKS_END, sub, now)?.ends_at ?? 0));
    for (const [provider, link] of Object.entries(links)) {
      const version = (this.#link(sub, provider, now)?.version ?? 0) + 1;
      this.#database.run(sql.PUT_LINK, sub, provider, secretOf(link.sealed), version, JSON.stringify(link), endsAt);
    }
    this.#database.run(sql.LENGTHEN_LINKS, endsAt, sub, now, endsAt);
  }
}

function linkOf(columns: Columns): LinkRow | undefined {
  const link = rowOf('link', columns);
  return link && { ...link, version: Number(columns?.version) };
}

/** `newId`: unique name for the holder of a lease. @throws ConfigError when the file is unusable, or another release or program made it */
export async function openSqliteStorage(options: {
  readonly file: string;
  readonly now: () => number;
  readonly newId: () => string;
}): Promise<AuthStorage> {
  return new SqliteStorage(await openDatabase(options.file, LOGINS, options), options.newId);
}
