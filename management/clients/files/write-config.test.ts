import {
  chmodSync,
  chownSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  lstatSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { changeFile, ForeignFile, readClientFile } from './write-config.ts';

let folder: string;
let file: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'vmcp-connect-'));
  file = join(folder, 'config.json');
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

function truncateTo(bytes: number): void {
  writeFileSync(file, '');
  truncateSync(file, bytes);
}

describe('changeFile', () => {
  it('creates the file and its folder with access for the owner only', () => {
    const below = join(folder, 'a', 'b', 'config.json');
    expect(changeFile(below, (text) => `${text}new`)).toEqual({ file: below, changed: true });
    expect(readFileSync(below, 'utf8')).toBe('new');
    expect(statSync(below).mode & 0o777).toBe(0o600);
  });

  it('keeps the previous content as backup, keeps the mode, and leaves no other file', () => {
    writeFileSync(file, 'old');
    chmodSync(file, 0o640);
    const { backup } = changeFile(file, () => 'new');
    expect([readFileSync(file, 'utf8'), readFileSync(backup!, 'utf8')]).toEqual(['new', 'old']);
    expect(statSync(file).mode & 0o777).toBe(0o640);
    expect(readdirSync(folder).sort()).toEqual(['config.json', 'config.json.vmcp-backup']);
  });

  it('writes nothing if nothing changes', () => {
    writeFileSync(file, 'same');
    expect(changeFile(file, (text) => text)).toEqual({ file, changed: false });
    expect(readdirSync(folder)).toEqual(['config.json']);
  });

  it('follows a symbolic link and keeps it', () => {
    mkdirSync(join(folder, 'dotfiles'));
    writeFileSync(join(folder, 'dotfiles', 'real.json'), 'old');
    symlinkSync(join(folder, 'dotfiles', 'real.json'), file);
    changeFile(file, () => 'new');
    expect(lstatSync(file).isSymbolicLink()).toBe(true);
    expect(readFileSync(join(folder, 'dotfiles', 'real.json'), 'utf8')).toBe('new');
  });

  it('replaces a symbolic link at the path of the backup, and not its target', () => {
    writeFileSync(file, 'old');
    writeFileSync(join(folder, 'precious'), 'precious');
    symlinkSync(join(folder, 'precious'), `${file}.vmcp-backup`);
    changeFile(file, () => 'new');
    expect(readFileSync(join(folder, 'precious'), 'utf8')).toBe('precious');
    expect(readFileSync(`${file}.vmcp-backup`, 'utf8')).toBe('old');
    expect(lstatSync(`${file}.vmcp-backup`).isSymbolicLink()).toBe(false);
  });

  it.each([
    ['a link to nothing', () => symlinkSync(join(folder, 'nothing'), file), 'is a link to nothing'],
    ['a folder', () => mkdirSync(file), 'is no file'],
    ['a device', () => symlinkSync('/dev/zero', file), 'is no file'],
    ['a file that is too long', () => truncateTo(65 * 1024 * 1024), 'is longer than'],
  ])('rejects %s', (_, make, message) => {
    make();
    expect(() => changeFile(file, () => 'new')).toThrow(message);
    expect(() => readClientFile(file)).toThrow(ForeignFile);
  });

  it('rejects a file of another user and a link to it', () => {
    let theirs = '/etc/passwd';
    if (process.getuid?.() === 0) {
      theirs = join(folder, 'theirs');
      writeFileSync(theirs, 'old');
      chownSync(theirs, 65_534, 65_534);
    }
    const before = readFileSync(theirs, 'utf8');
    symlinkSync(theirs, file);
    expect(() => changeFile(file, () => 'new')).toThrow('belongs to another user');
    expect(readFileSync(theirs, 'utf8')).toBe(before);
  });

  it('retries if the other program writes concurrently, so that no change is lost', () => {
    writeFileSync(file, 'a');
    let writes = 0;
    changeFile(file, (text) => {
      if (writes === 0) writeFileSync(file, 'ab');
      writes += 1;
      return `${text}!`;
    });
    expect(readFileSync(file, 'utf8')).toBe('ab!');
  });

  it('gives up on a file that changes continuously, and leaves it unchanged', () => {
    writeFileSync(file, '0');
    let count = 0;
    const change = (text: string) => {
      count += 1;
      writeFileSync(file, String(count));
      return `${text}!`;
    };
    expect(() => changeFile(file, change)).toThrow('close the client');
    expect(readFileSync(file, 'utf8')).toBe(String(count));
  });

  it('passes the backup to the change, and ignores a link at its path', () => {
    writeFileSync(file, 'old');
    const seen: unknown[] = [];
    const note = (text: string, backup: string | undefined) => {
      seen.push(backup);
      return `${text}!`;
    };
    changeFile(file, note);
    changeFile(file, note);
    writeFileSync(join(folder, 'other'), 'of somebody else');
    rmSync(`${file}.vmcp-backup`);
    symlinkSync(join(folder, 'other'), `${file}.vmcp-backup`);
    changeFile(file, note);
    expect(seen).toEqual([undefined, 'old', undefined]);
  });

  it('leaves the file unchanged if the change throws', () => {
    writeFileSync(file, 'old');
    expect(() =>
      changeFile(file, () => {
        throw new Error('no');
      }),
    ).toThrow('no');
    expect([readFileSync(file, 'utf8'), readdirSync(folder)]).toEqual(['old', ['config.json']]);
  });
});
