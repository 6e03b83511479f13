import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { ConfigError } from '#runtime/errors';
import { StorageUnavailable } from '#runtime/storage/storage-unavailable';
import { recordsContract } from './contract/records.contract.ts';
import { openSqliteRecords } from './sqlite-records.ts';

const LONG = 600_000;
const BOUNDS = { idle: LONG, most: 100, safe: 60_000 };
const record = { key: 'a', owner: 'ann', countedFor: 'ann', fields: { profile: '0 sealed' } };

let folder = '';
let files = 0;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'vmcp-sessions-'));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const newFile = () => join(folder, `state${(files += 1)}`, 'sessions.sqlite');
let time = 1_700_000_000_000;
const open = (file = newFile()) => openSqliteRecords(file, () => time);

recordsContract('SQLite', async () => {
  const records = await open();
  return {
    records,
    pass: (ms) => {
      time += ms;
      return Promise.resolve();
    },
    close: () => records.close(),
  };
});

describe('SqliteRecords', () => {
  it('keeps records over a restart, in a file that only its owner can read', async () => {
    const file = newFile();
    const before = await open(file);
    await before.open(record, BOUNDS);
    before.close();
    expect(statSync(file).mode & 0o777).toBe(0o600);
    const after = await open(file);
    expect(await after.load(record, LONG)).toEqual(record.fields);
    after.close();
  });

  it('refuses a file that is damaged, locked, or made by another part of this program', async () => {
    const [damaged, locked] = [newFile(), newFile()];
    for (const file of [damaged, locked]) (await open(file)).close();
    writeFileSync(damaged, 'text '.repeat(1_000));
    await expect(open(damaged)).rejects.toThrow(/damaged, or no database; move it away: then each client begins/);
    const other = new DatabaseSync(locked);
    other.exec('BEGIN EXCLUSIVE');
    await expect(open(locked)).rejects.toThrow(ConfigError);
    other.exec('COMMIT; PRAGMA application_id = 0x766d6370');
    other.close();
    await expect(open(locked)).rejects.toThrow(/database of another program/);
  });

  it('reports that it is unavailable while another process locks it, and works again afterwards', async () => {
    const file = newFile();
    const records = await open(file);
    const other = new DatabaseSync(file);
    other.exec('BEGIN IMMEDIATE');
    await expect(records.open(record, BOUNDS)).rejects.toThrow(StorageUnavailable);
    expect(records.problem).toContain('cannot be written');
    other.exec('COMMIT');
    other.close();
    expect(await records.open(record, BOUNDS)).toEqual({ outcome: 'opened', evicted: [] });
    expect(records.problem).toBeUndefined();
    records.close();
  });

  it('forgets ended records after their time', async () => {
    const file = newFile();
    const records = await open(file);
    await records.open(record, BOUNDS);
    await records.end(record, LONG);
    time += LONG + 10_000;
    await records.sweep(LONG);
    records.close();
    const database = new DatabaseSync(file, { readOnly: true });
    expect(database.prepare('SELECT key FROM mcp_sessions').all()).toEqual([]);
    expect(database.prepare('SELECT key FROM mcp_session_fields').all()).toEqual([]);
    database.close();
  });
});
