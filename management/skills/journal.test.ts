import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { fileRecords } from '../stores/file-records.ts';
import type { RecordStore } from '../stores/record-store.ts';
import { type Change, Journal } from './journal.ts';
import { prepareFolder } from './place-folder.ts';
import type { StoredSkill } from './skills.ts';

let base: string;
let records: RecordStore;
let journal: Journal;
const file = () => join(base, 'work.json');
const target = () => join(base, 'skills/notes');
beforeEach(() => {
  base = mkdtempSync(join(tmpdir(), 'vmcp-journal-'));
  records = fileRecords(join(base, 'records'), 'user')('skills');
  journal = new Journal(file(), records);
  for (const words of ['old', 'new']) {
    mkdirSync(join(base, words), { recursive: true });
    writeFileSync(join(base, words, 'SKILL.md'), words);
  }
});
afterEach(() => rmSync(base, { recursive: true, force: true }));

const recordOf = (reference: string): StoredSkill => ({
  metadata: { name: 'notes', description: 'd' },
  ...{ scope: 'user', reference, digest: 'd', content: 'c', installed_at: 'now', status: 'installed' },
  ...{ clients: [], dependencies: [], targets: [target()] },
});
const change = (words: string): Change => ({
  key: 'user:notes',
  source: join(base, words),
  place: [target()],
  remove: [],
  after: recordOf(words),
});
const state = async () => ({
  text: existsSync(target()) ? readFileSync(join(target(), 'SKILL.md'), 'utf8') : undefined,
  reference: ((await records.get('user:notes'))?.value as StoredSkill | undefined)?.reference,
  entries: existsSync(join(base, 'skills')) ? readdirSync(join(base, 'skills')) : [],
  isDone: !existsSync(file()),
});
const OLD = { text: 'old', reference: 'old', entries: ['notes'], isDone: true };
const NEW = { text: 'new', reference: 'new', entries: ['notes'], isDone: true };

/** Leaves the journal of a killed process. */
function leave(phase: 'preparing' | 'finishing', changes: Change[]): void {
  const owner = { pid: 4_194_304, started: 'long ago' };
  writeFileSync(file(), JSON.stringify({ id: 'work', owner, phase, changes }));
}

describe('Journal after a killed process', () => {
  beforeEach(() => journal.run('first', [change('old')]));

  it('reverts changes that were being prepared', async () => {
    leave('preparing', [change('new')]);
    await prepareFolder(join(base, 'new'), target(), 'work');
    expect(journal.inFlight()?.isAbandoned).toBe(true);
    await journal.recover();
    expect(await state()).toEqual(OLD);
  });

  it.each([
    ['before anything was placed', () => Promise.resolve(true)],
    ['when the former one was aside', () => Promise.resolve(renameAside())],
    ['when the new one was in its place', () => journal.recover().then(() => true)],
  ])('completes changes that were being finished: %s', async (_when, further) => {
    await prepareFolder(join(base, 'new'), target(), 'work');
    leave('finishing', [change('new')]);
    await further();
    if (!existsSync(file())) leave('finishing', [change('new')]);
    await journal.recover();
    expect(await state()).toEqual(NEW);
  });

  it('completes a removal', async () => {
    leave('finishing', [{ key: 'user:notes', place: [], remove: [target()] }]);
    renameAside();
    await journal.recover();
    expect(await state()).toEqual({ text: undefined, reference: undefined, entries: [], isDone: true });
  });

  it('reports an unreadable journal with its file, and changes nothing', async () => {
    writeFileSync(file(), '{"half');
    await expect(journal.recover()).rejects.toMatchObject({
      code: 'store_damaged',
      message: expect.stringContaining(file()),
    });
    expect(await state()).toEqual({ ...OLD, isDone: false });
  });
});

describe('Journal with several changes', () => {
  it('keeps everything as it was when one change cannot be prepared', async () => {
    await journal.run('first', [change('old')]);
    const missing = {
      ...change('new'),
      key: 'user:other',
      source: join(base, 'none'),
      place: [join(base, 'skills/other')],
    };
    await expect(journal.run('second', [change('new'), missing])).rejects.toThrow();
    expect(await state()).toEqual(OLD);
  });
});

function renameAside(): boolean {
  const aside = join(base, 'skills/.notes.work.old');
  mkdirSync(aside);
  writeFileSync(join(aside, 'SKILL.md'), 'old');
  rmSync(target(), { recursive: true });
  return true;
}
