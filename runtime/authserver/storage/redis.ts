import { ROWS_OF_A_KIND } from './bounds.ts';
import type { ReadSecret, RedisConfig } from '#lib/connections/redis-options';
import { connectRedis } from '#runtime/storage/redis/connect';
import { parseRow } from './parse-row.ts';
import type { RedisConnection } from '#runtime/storage/redis/connection';
import { Replication } from './redis/replication.ts';
import * as logins from './redis/login-scripts.ts';
import * as rows from './redis/row-scripts.ts';
import * as sessions from './redis/session-scripts.ts';
import { fieldsOf, linkJson, listOf, parseRotated, parseSession, stringsOf } from './redis/wire.ts';
import type { CodeRow, LinkRow, ActiveSession, SessionRow } from './rows.ts';
import { countUp } from './session-rules.ts';
import {
  type Amendment,
  type AssertionUse,
  type AuthStorage,
  type Finished,
  type FinishedLogin,
  type Held,
  type Lease,
  type PlainRows,
  type Redeemed,
  type Rotated,
  type Rotation,
  type Sizes,
  type SlotSession,
  StorageUnavailable,
} from './storage.ts';

/** Names of the sorted sets of ids by kind, scored by end time. */
const INDEX: Readonly<Record<keyof PlainRows, string>> = {
  client: 'clients',
  login: 'logins',
  browser: 'browsers',
  ticket: 'tickets',
  answer: 'answers',
  assertion: 'assertions',
  slot: 'slots',
  revocation: 'revocations',
};

/** Refusals of an assertion by the answer of a script. */
const REFUSED: Readonly<Record<number, 'replayed' | 'full'>> = { 0: 'replayed', 2: 'full' };

const CODE = 'code:';

/** Returns whole milliseconds, at least 1, because Redis rejects other lifespans. */
const millis = (lifespan: number) => Math.max(1, Math.ceil(lifespan));

interface Parts {
  readonly prefix: string;
  /** Connection for operations without WAIT. */
  readonly connection: RedisConnection;
  /** Connection for durable operations: WAIT blocks the later commands of its connection. */
  readonly durable: RedisConnection;
  readonly replication: Replication;
  readonly requireAck: boolean;
  readonly newId: () => string;
}

class RedisStorage implements AuthStorage {
  readonly kind = 'redis';
  readonly #parts: Parts;
  readonly #prefix: string;
  readonly #redis: RedisConnection;

  constructor(parts: Parts) {
    this.#parts = parts;
    this.#prefix = parts.prefix;
    this.#redis = parts.connection;
  }

  get unacknowledged(): number {
    return this.#parts.replication.unacknowledged;
  }

  async put<Kind extends keyof PlainRows>(
    kind: Kind,
    id: string,
    row: PlainRows[Kind],
    { lifespan, capacity = ROWS_OF_A_KIND }: { lifespan: number; capacity?: number },
  ): Promise<boolean> {
    const values = [kind, INDEX[kind], id, JSON.stringify(row), millis(lifespan), capacity];
    return (await this.#redis.run(rows.PUT, this.#prefix, ...values)) === 1;
  }

  async get<Kind extends keyof PlainRows>(kind: Kind, id: string): Promise<PlainRows[Kind] | undefined> {
    const row = await this.#redis.ask((redis) => redis.get(`${this.#prefix}${kind}:${id}`));
    return row === null ? undefined : parseRow(kind, row);
  }

  async take<Kind extends keyof PlainRows>(kind: Kind, id: string): Promise<PlainRows[Kind] | undefined> {
    const row = await this.#redis.run(rows.TAKE, this.#prefix, kind, INDEX[kind], id);
    return typeof row === 'string' ? parseRow(kind, row) : undefined;
  }

  async remove(kind: keyof PlainRows, id: string): Promise<void> {
    await this.#redis.run(rows.REMOVE, this.#prefix, kind, INDEX[kind], id);
  }

  async touch(kind: keyof PlainRows, id: string, lifespan: number): Promise<void> {
    await this.#redis.run(rows.TOUCH, this.#prefix, kind, INDEX[kind], id, millis(lifespan));
  }

  async finishLogin({ sub, links, expects = {}, code, lifespan }: FinishedLogin): Promise<Finished> {
    const linked = Object.entries(links).flatMap(([provider, link]) => [
      provider,
      link.account?.subject ?? '',
      linkJson(link),
    ]);
    const waiting = code ? [code.id, JSON.stringify(code.row), millis(code.lifespan)] : ['', '', 0];
    const values = [sub, millis(lifespan), ...waiting, JSON.stringify(expects), ...linked];
    const conflict = await this.#redis.run(logins.FINISH_LOGIN, this.#prefix, ...values);
    if (conflict === 0) return { outcome: 'changed' };
    return conflict === '' ? { outcome: 'stored' } : { outcome: 'conflict', provider: String(conflict) };
  }

  async getCode(id: string): Promise<CodeRow | undefined> {
    const row = await this.#redis.ask((redis) => redis.hget(`${this.#prefix}${CODE}${id}`, 'row'));
    return row === null ? undefined : parseRow('code', row);
  }

  async isCodeUnused(id: string): Promise<boolean> {
    const key = `${this.#prefix}${CODE}${id}`;
    const [row, session] = await this.#redis.ask((redis) => redis.hmget(key, 'row', 'session'));
    return row !== null && session === null;
  }

  async redeemCode(id: string, session: { key: string; row: SessionRow; lifespan: number }): Promise<Redeemed> {
    const { key, row, lifespan } = session;
    const values = [id, key, row.sub, millis(lifespan), row.ends_at, ...fieldsOf(row)];
    const answer = await this.#parts.durable.run(logins.REDEEM_CODE, this.#prefix, ...values);
    if (answer === 0) return { outcome: 'unknown' };
    if (answer !== 1) return { outcome: 'replayed', session: String(answer) };
    await this.#makeDurable(() => this.#parts.durable.run(logins.UNDO_REDEMPTION, this.#prefix, id, key, row.sub));
    return { outcome: 'redeemed' };
  }

  async useAssertion(id: string, lifespan: number): Promise<AssertionUse> {
    const values = [id, millis(lifespan), ROWS_OF_A_KIND];
    const refusal = REFUSED[Number(await this.#parts.durable.run(rows.USE_ASSERTION, this.#prefix, ...values))];
    if (refusal) return refusal;
    await this.#makeDurable();
    return 'used';
  }

  async holdSession({ slot, key, row, lifespan, assertion }: SlotSession): Promise<Held> {
    const { revocations = [] } = assertion ?? {};
    const used = assertion
      ? [assertion.id, millis(assertion.lifespan), assertion.issuedAt, millis(assertion.linksLifespan)]
      : ['', 0, 0, 0];
    const session = [slot, key, row.sub, millis(lifespan), row.ends_at];
    const values = [...session, ...used, ROWS_OF_A_KIND, revocations.length, ...revocations, ...fieldsOf(row)];
    const answer = await this.#parts.durable.run(sessions.HOLD_SESSION, this.#prefix, ...values);
    if (typeof answer === 'number') return { outcome: REFUSED[answer] ?? 'revoked' };
    if (assertion) await this.#makeDurable();
    return { outcome: 'held', key: String(answer) };
  }

  async getSession(key: string): Promise<ActiveSession | undefined> {
    const fields = await this.#redis.ask((redis) => redis.hgetall(`${this.#prefix}session:${key}`));
    return parseSession(fields);
  }

  async rotateSession(key: string, rotation: Rotation): Promise<Rotated> {
    const { clientId, gen, kid, grace, lifespan, known, required = [] } = rotation;
    const row = [key, JSON.stringify(clientId), gen, JSON.stringify(kid), grace, millis(lifespan)];
    const values = [...row, known?.asked_at ?? '', known?.answered_at ?? '', ...required];
    const answer = await this.#redis.run(sessions.ROTATE_SESSION, this.#prefix, ...values);
    if (answer === 0) return { outcome: 'unknown' };
    if (answer === 2) return { outcome: 'login_needed' };
    if (typeof answer === 'string') {
      await this.endSession(key);
      return { outcome: 'replayed', sub: answer };
    }
    return { outcome: 'rotated', session: parseRotated(answer, known) };
  }

  async amendSession(key: string, changes: Amendment): Promise<void> {
    const fields = fieldsOf(changes);
    if (fields.length > 0) await this.#redis.run(sessions.AMEND_SESSION, this.#prefix, key, ...fields);
  }

  async endSession(key: string): Promise<void> {
    await this.#parts.durable.run(sessions.END_SESSION, this.#prefix, key);
    await this.#makeDurable();
  }

  async endUser(sub: string): Promise<void> {
    await this.#parts.durable.run(sessions.END_USER, this.#prefix, sub);
    await this.#makeDurable();
  }

  async sessionsOf(sub: string): Promise<readonly string[]> {
    const held = stringsOf(await this.#redis.run(sessions.HELD_BY, this.#prefix, sub));
    return held.filter((member) => !member.startsWith(CODE));
  }

  async linksOf(sub: string): Promise<Readonly<Record<string, LinkRow>>> {
    const links = await this.#redis.ask((redis) => redis.hgetall(`${this.#prefix}links:${sub}`));
    return Object.fromEntries(Object.entries(links).map(([provider, link]) => [provider, parseRow('link', link)]));
  }

  async getLink(sub: string, provider: string): Promise<LinkRow | undefined> {
    const link = await this.#redis.ask((redis) => redis.hget(`${this.#prefix}links:${sub}`, provider));
    return link === null ? undefined : parseRow('link', link);
  }

  async replaceLink(sub: string, provider: string, version: number, row: LinkRow): Promise<boolean> {
    const values = [sub, provider, version, linkJson(row)];
    const replaced = (await this.#parts.durable.run(logins.REPLACE_LINK, this.#prefix, ...values)) === 1;
    // The token should survive a failover, as the former one is invalid. A missing acknowledgement is no error: the token is stored.
    if (replaced) await this.#parts.replication.acknowledged();
    return replaced;
  }

  async unlink(sub: string, provider: string): Promise<void> {
    await this.#parts.durable.run(logins.UNLINK, this.#prefix, sub, provider);
    await this.#makeDurable();
  }

  async lease(name: string, lifespan: number): Promise<Lease | undefined> {
    const holder = this.#parts.newId();
    const key = `${this.#prefix}lease:${name}`;
    const taken = await this.#redis.ask((redis) => redis.set(key, holder, 'PX', millis(lifespan), 'NX'));
    if (taken === null) return undefined;
    return {
      release: async () => {
        await this.#redis.run(rows.RELEASE, this.#prefix, name, holder);
      },
    };
  }

  async count(bucket: string, window: number): Promise<number> {
    return Number(await this.#redis.run(rows.COUNT, this.#prefix, bucket, millis(window)));
  }

  async sizes(): Promise<Sizes> {
    const sizes = listOf(await this.#redis.run(rows.SIZES, this.#prefix)).map(Number);
    const [clients = 0, logins = 0, sessions = 0] = sizes;
    let links = 0;
    await this.#eachSecret('linked', () => (links += 1));
    return { clients, logins, sessions, links };
  }

  async secretsInUse(): Promise<Readonly<Record<string, number>>> {
    const counts: Record<string, number> = {};
    for (const index of ['sessions', 'linked']) await this.#eachSecret(index, (kid) => countUp(counts, kid));
    return counts;
  }

  close(): Promise<void> {
    this.#redis.close();
    this.#parts.durable.close();
    return Promise.resolve();
  }

  /** Waits for an acknowledgement. When a required one is missing, it runs `undo` first. @throws StorageUnavailable */
  async #makeDurable(undo: () => Promise<unknown> = () => Promise.resolve()): Promise<void> {
    if ((await this.#parts.replication.acknowledged()) || !this.#parts.requireAck) return;
    await undo();
    throw new StorageUnavailable('no replica acknowledged it in time');
  }

  /** Reads in pieces, so that Redis can serve other commands in between. */
  async #eachSecret(index: string, tell: (kid: string) => void): Promise<void> {
    let cursor = '0';
    do {
      const [next, kids] = listOf(await this.#redis.run(rows.SECRETS, this.#prefix, index, cursor));
      stringsOf(kids).forEach(tell);
      cursor = String(next);
    } while (cursor !== '0');
  }
}

/**
 * Redis may be unreachable at first; operations then reject with StorageUnavailable. `newId`: unique name for the holder of a lease.
 * `now`: clock for the age of cached answers. @throws ConfigError when an address is malformed or a file cannot be read
 */
export async function openRedisStorage(
  config: RedisConfig,
  {
    now,
    newId,
    readSecret,
  }: { readonly now: () => number; readonly newId: () => string; readonly readSecret: ReadSecret },
): Promise<AuthStorage> {
  const [connection, durable] = [connectRedis(config, readSecret), connectRedis(config, readSecret)];
  await Promise.all([connection.firstReady(config.dial_timeout), durable.firstReady(config.dial_timeout)]);
  const expected = config.sentinel_config !== undefined || config.require_replica_ack;
  const replication = new Replication(durable, { now, expected, readTimeout: config.read_timeout });
  const { key_prefix: prefix, require_replica_ack: requireAck } = config;
  return new RedisStorage({ prefix, connection, durable, replication, requireAck, newId });
}
