import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { ANONYMOUS } from '#runtime/incoming/build-identity';
import { createSecretRing } from '#runtime/keys/create-secret-ring';
import { NO_BACKENDS } from '#runtime/mcp/backends/build-backends';
import { openStoredSessions } from './open-stored-sessions.ts';
import { recordName } from './record-seal.ts';
import { EVICTABLE_AFTER } from './session-limits.ts';
import { INITIALIZED, subscriptionField } from './session-record.ts';
import { SessionStore } from './session-store.ts';

const HOUR = 3_600_000;
const PROFILE = {
  paramsText: '{"clientInfo":{}}',
  capabilities: '{}',
  revision: '2025-11-25',
  clientName: 'test',
  clientVersion: '1',
};
const OWNER = { principal: ANONYMOUS.key, countedFor: ANONYMOUS.key };
const silent = { debug: () => undefined, info: () => undefined, warn: () => undefined, error: () => undefined };
const ring = createSecretRing([{ file: 'sealing', content: Buffer.from('s'.repeat(40)) }], {
  now: () => 0,
  random: (size) => Buffer.alloc(size, 1),
});

let folder = '';
const open: { close(): unknown }[] = [];
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'vmcp-kept-'));
});
afterEach(async () => {
  for (const one of open.splice(0).reverse()) await one.close();
  rmSync(folder, { recursive: true, force: true });
});

/** Starts one process with its store and its clocks, in milliseconds. */
async function start(clock: { mono: number; wall: number }) {
  const limits = { idle: HOUR / 2, perPrincipal: 100, perReplica: 10_000, evictableAfter: EVICTABLE_AFTER };
  const nothing = () => undefined;
  const store = new SessionStore(limits, () => clock.mono, { ended: nothing, forgotten: nothing, evicted: nothing });
  const sharing = await openStoredSessions({
    table: store,
    file: join(folder, 'sessions.sqlite'),
    place: { namespace: 'team', name: 'tools', uid: '1' },
    ring,
    backends: () => NO_BACKENDS,
    changedSince: () => false,
    evicted: nothing,
    now: () => clock.mono,
    wallClock: () => clock.wall,
    log: silent,
  });
  store.shared = sharing.sessions;
  open.push(store, sharing);
  return { store, sharing };
}

describe('openStoredSessions', () => {
  it('keeps a session while the machine sleeps, and ends a session that was idle while no process ran', async () => {
    const clock = { mono: 0, wall: 1_700_000_000_000 };
    const first = await start(clock);
    const session = first.store.create(OWNER, PROFILE);
    await first.store.opened(session, ANONYMOUS);
    clock.wall += 8 * HOUR;
    await first.sharing.sessions.tend();
    expect(await first.store.find(session.id, OWNER.principal)).toBe(session);
    await first.sharing.close();

    const second = await start({ mono: 0, wall: clock.wall });
    expect(await second.store.find(session.id, OWNER.principal)).toBeUndefined();
  });

  it('finds a session that was used just before the restart', async () => {
    const clock = { mono: 0, wall: 1_700_000_000_000 };
    const first = await start(clock);
    const session = first.store.create(OWNER, PROFILE);
    await first.store.opened(session, ANONYMOUS);
    await first.sharing.close();
    const second = await start({ mono: 0, wall: clock.wall + HOUR / 4 });
    const found = await second.store.find(session.id, OWNER.principal);
    expect(found).toMatchObject({ id: session.id, profile: PROFILE, openedAt: -HOUR / 4 });
    expect(await second.store.find(session.id, 'another principal')).toBeUndefined();
  });

  it.each([
    [
      'fields of one record are put into another',
      `UPDATE mcp_session_fields SET key = 'x' WHERE key = :one;
       UPDATE mcp_session_fields SET key = :one WHERE key = :other;
       UPDATE mcp_session_fields SET key = :other WHERE key = 'x'`,
    ],
    [
      'records change their owners',
      `UPDATE mcp_sessions SET owner =
         (SELECT owner FROM mcp_sessions AS their WHERE their.key <> mcp_sessions.key) WHERE key = :one`,
    ],
    [
      'records change their keys',
      `UPDATE mcp_sessions SET key = 'x' || key; UPDATE mcp_session_fields SET key = 'x' || key`,
    ],
    ['a field is renamed', `UPDATE mcp_session_fields SET field = 'level' WHERE field = 'initialized'`],
  ])('returns a session to its own principal only when %s in the file', async (_, sql) => {
    const clock = { mono: 0, wall: 1_700_000_000_000 };
    const first = await start(clock);
    const owners = ['alice', 'mallory'].map((principal) => ({ principal, countedFor: principal }));
    const sessions = owners.map((owner) => first.store.create(owner, PROFILE));
    for (const session of sessions) {
      await first.store.opened(session, ANONYMOUS);
      await first.store.remember(session, INITIALIZED);
    }
    const keys = sessions.map(({ id, principal }) => recordName(id, principal).key);
    await first.sharing.close();
    rewrite(sql, keys);

    const { store } = await start({ mono: 0, wall: clock.wall });
    const [alices, mallorys] = sessions.map(({ id }) => id);
    for (const { principal } of owners) expect(await store.find(alices ?? '', principal)).toBeUndefined();
    expect(await store.find(mallorys ?? '', 'alice')).toBeUndefined();
  });

  it('stores neither session ids nor principals in its file, which only its owner can read', async () => {
    const { store, sharing } = await start({ mono: 0, wall: 1_700_000_000_000 });
    const session = store.create({ principal: 'the-principal', countedFor: 'the-address' }, PROFILE);
    await store.opened(session, ANONYMOUS);
    await store.remember(session, subscriptionField('file:///the-resource', 'the-backend'));
    const files = readdirSync(folder).map((name) => join(folder, name));
    expect(files.map((file) => statSync(file).mode & 0o077)).toEqual(files.map(() => 0));
    const stored = files.map((file) => readFileSync(file, 'latin1')).join('');
    for (const secret of [session.id, 'the-principal', 'the-address', 'the-resource', 'the-backend', 'clientInfo'])
      expect(stored).not.toContain(secret);
    await sharing.close();
  });
});

/** Runs these statements on the file. `:one` and `:other` are keys of records. */
function rewrite(sql: string, [one = '', other = '']: readonly string[]): void {
  const database = new DatabaseSync(join(folder, 'sessions.sqlite'));
  database.exec(sql.replaceAll(':one', `'${one}'`).replaceAll(':other', `'${other}'`));
  database.close();
}
