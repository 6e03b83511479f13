import { existsSync, lstatSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { extractArchive } from './extract-archive.ts';
import { Space } from './skill-limits.ts';
import { type Entries, tarOf, tgzOf, zipOf } from './testdata/archives.ts';

let base: string;
let folder: string;
beforeEach(() => {
  base = mkdtempSync(join(tmpdir(), 'vmcp-extract-'));
  folder = join(base, 'a', 'b');
  mkdirSync(folder, { recursive: true });
});
afterEach(() => rmSync(base, { recursive: true, force: true }));

const extract = (archive: Buffer) => extractArchive(archive, folder, { signal: AbortSignal.timeout(20_000) });
/** Returns all files below the test folder, except those that the test created itself. */
const written = () =>
  readdirSync(base, { recursive: true, encoding: 'utf8' })
    .filter((path) => !['a', 'a/b'].includes(path))
    .sort();

const GOOD: Entries = [
  { name: 'notes/', type: 'directory' },
  { name: 'notes/SKILL.md', text: 'hello' },
  { name: 'notes/scripts/run.sh', text: '#!/bin/sh', mode: 0o4755 },
];

describe('extractArchive', () => {
  it.each([
    ['tar', () => tarOf(GOOD)],
    ['tar.gz', () => tgzOf(GOOD)],
    [
      'zip',
      () =>
        Promise.resolve(
          zipOf([
            { name: 'notes/', mode: 0o040755 },
            { name: 'notes/SKILL.md', text: 'hello' },
            { name: 'notes/scripts/run.sh', text: '#!/bin/sh', mode: 0o104755 },
          ]),
        ),
    ],
  ])('unpacks %s, and sets only the permission to execute', async (_kind, make) => {
    await extract(await make());
    expect(readFileSync(join(folder, 'notes/SKILL.md'), 'utf8')).toBe('hello');
    expect(lstatSync(join(folder, 'notes/SKILL.md')).mode & 0o7111).toBe(0);
    expect(lstatSync(join(folder, 'notes/scripts/run.sh')).mode & 0o7100).toBe(0o100);
  });

  const hostile: [string, Entries][] = [
    ['a path that leaves the folder', [{ name: '../evil', text: 'x' }]],
    ['a path that leaves it from inside', [{ name: 'notes/../../evil', text: 'x' }]],
    ['an absolute path', [{ name: '/tmp/evil', text: 'x' }]],
    ['a path of Windows', [{ name: 'C:\\evil', text: 'x' }]],
    ['backslashes that leave the folder', [{ name: '..\\evil', text: 'x' }]],
    ['a symlink', [{ name: 'link', type: 'symlink', linkname: '/etc/passwd' }]],
    [
      'a symlink, and a file through it',
      [
        { name: 'link', type: 'symlink', linkname: '..' },
        { name: 'link/evil', text: 'x' },
      ],
    ],
    ['a hard link', [{ name: 'link', type: 'link', linkname: '/etc/passwd' }]],
    ['a character device', [{ name: 'zero', type: 'character-device', devmajor: 1, devminor: 5 }]],
    ['a block device', [{ name: 'disk', type: 'block-device', devmajor: 8, devminor: 0 }]],
    ['a pipe', [{ name: 'pipe', type: 'fifo' }]],
    ['a device of another system', [{ name: 'notes/NUL.txt', text: 'x' }]],
    ['a name with a line break', [{ name: 'a\nb', text: 'x' }]],
    [
      'one path twice',
      [
        { name: 'a.md', text: '1' },
        { name: 'a.md', text: '2' },
      ],
    ],
    [
      'two paths that differ in case',
      [
        { name: 'a.md', text: '1' },
        { name: 'A.md', text: '2' },
      ],
    ],
    [
      'a file that is a folder, too',
      [
        { name: 'a', text: '1' },
        { name: 'a/b', text: '2' },
      ],
    ],
    [
      'two paths that differ in how a letter is composed',
      [
        { name: 'caf\u00e9.md', text: '1' },
        { name: 'cafe\u0301.md', text: '2' },
      ],
    ],
    ['a name that ends in a dot', [{ name: 'notes./a.md', text: 'x' }]],
    ['a name that ends in a blank', [{ name: 'notes /a.md', text: 'x' }]],
    ['a path of 33 parts', [{ name: `${'a/'.repeat(32)}b`, text: 'x' }]],
    ['a path of more than 1024 bytes', [{ name: `${`${'a'.repeat(200)}/`.repeat(5)}${'b'.repeat(20)}`, text: 'x' }]],
    ['more than 1000 files', Array.from({ length: 1001 }, (_, i) => ({ name: `f${i}`, text: '' }))],
    ['nothing', []],
  ];

  it.each<[string, Entries, string]>([
    ['a path of 32 parts', [{ name: `${'a/'.repeat(31)}b`, text: 'x' }], `${'a/'.repeat(31)}b`],
    ['1000 files', Array.from({ length: 1000 }, (_, i) => ({ name: `f${i}`, text: '' })), 'f999'],
  ])('unpacks an archive with %s', async (_what, entries, last) => {
    await extract(await tgzOf(entries));
    expect(existsSync(join(folder, last))).toBe(true);
  });

  it.each(hostile)('rejects an archive with %s, and writes nothing outside of its folder', async (_what, entries) => {
    await expect(extract(await tgzOf(entries))).rejects.toMatchObject({ code: 'bad_request' });
    expect(written().filter((path) => !path.startsWith('a/b/'))).toEqual([]);
    expect(existsSync('/tmp/evil')).toBe(false);
    const links = written().filter(
      (path) => !lstatSync(join(base, path)).isFile() && !lstatSync(join(base, path)).isDirectory(),
    );
    expect(links).toEqual([]);
  });

  it.each<[string, Parameters<typeof zipOf>[0]]>([
    ['a path that leaves the folder', [{ name: '../evil', text: 'x' }]],
    ['an absolute path', [{ name: '/tmp/evil', text: 'x' }]],
    ['backslashes', [{ name: '..\\evil', text: 'x' }]],
    ['a symlink', [{ name: 'link', text: '/etc/passwd', mode: 0o120777 }]],
    ['a device', [{ name: 'zero', mode: 0o020666 }]],
    ['a size that is not true', [{ name: 'a', text: 'x'.repeat(5000), claimedSize: 10 }]],
    [
      'one path twice',
      [
        { name: 'a', text: '1' },
        { name: 'a', text: '2' },
      ],
    ],
    ['more than 1000 files', Array.from({ length: 1001 }, (_, i) => ({ name: `f${i}` }))],
    [
      'more than 1000 folders that no entry names',
      Array.from({ length: 40 }, (_, i) => ({ name: `f${i}/${'a/'.repeat(29)}a` })),
    ],
    ['nothing', []],
  ])('rejects a zip archive with %s', async (_what, entries) => {
    await expect(extract(zipOf(entries))).rejects.toMatchObject({ code: 'bad_request' });
    expect(written().filter((path) => !path.startsWith('a/b/'))).toEqual([]);
  });

  it.each([
    ['no archive', Buffer.from('hello, this is no archive at all')],
    ['nothing at all', Buffer.alloc(0)],
    ['half a gzip file', gzipSync(Buffer.alloc(5000, 'x')).subarray(0, 20)],
    ['half a zip file', zipOf([{ name: 'a', text: 'x' }]).subarray(0, 40)],
  ])('rejects an archive that is %s', async (_what, bytes) => {
    await expect(extract(bytes)).rejects.toMatchObject({ code: 'bad_request' });
    expect(written()).toEqual([]);
  });

  it('rejects an archive before it grows beyond 500 MB', async () => {
    const block = Buffer.alloc(64 * 1024 * 1024);
    const big = await tgzOf(Array.from({ length: 9 }, (_, i) => ({ name: `f${i}`, text: block })));
    expect(big.length).toBeLessThan(1_000_000);
    const before = process.memoryUsage().rss;
    await expect(extract(big)).rejects.toMatchObject({
      code: 'bad_request',
      message: expect.stringContaining('bytes'),
    });
    expect(process.memoryUsage().rss - before).toBeLessThan(400 * 1024 * 1024);
  });

  it('rejects an archive that declares a size beyond the limit', async () => {
    const [header] = [(await tarOf([{ name: 'a', text: '' }])).subarray(0, 512)];
    header.write('77777777777\0', 124, 'latin1');
    let sum = 0;
    header.fill(' ', 148, 156);
    for (const byte of header) sum += byte;
    header.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148, 'latin1');
    const refused = { code: 'bad_request', message: expect.stringContaining('has more than 524288000 bytes') };
    await expect(extract(header)).rejects.toMatchObject(refused);
    const zip = zipOf([{ name: 'a', text: 'x', claimedSize: 600_000_000 }]);
    await expect(extract(zip)).rejects.toMatchObject(refused);
    expect(written()).toEqual([]);
  });

  it('reports that a zip archive is encrypted', async () => {
    const message = '"a" is encrypted';
    await expect(extract(zipOf([{ name: 'a', text: 'x', isEncrypted: true }]))).rejects.toMatchObject({ message });
  });

  it('stops reading an archive that is larger than its files require', async () => {
    const padded = gzipSync(Buffer.concat([await tarOf(GOOD), Buffer.alloc(17 * 1024 * 1024)]));
    const space = new Space(1000);
    const cut = extractArchive(padded, folder, { signal: AbortSignal.timeout(20_000), space });
    await expect(cut).rejects.toMatchObject({ code: 'bad_request', message: expect.stringContaining('1000 bytes') });
  });
});
