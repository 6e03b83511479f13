import { existsSync, mkdirSync, mkdtempSync, readdirSync, writeFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { TrustRoots } from '#management/provenance/trust-roots';
import { makeSigstore } from './make-sigstore.ts';
import { serveTuf, type TufRepository } from './serve-tuf.ts';

const HOUR = 3_600_000;

describe('the trust roots of signatures', () => {
  let trustedRoot: string;
  let folder: string;
  let cache: string;
  let now: number;
  const closing: (() => Promise<unknown>)[] = [];
  beforeAll(async () => {
    ({ trustedRoot } = await makeSigstore());
  });
  beforeEach(() => {
    const path = mkdtempSync(join(tmpdir(), 'vmcp-roots-'));
    // A read that no caller waits for may still write.
    closing.push(() => rm(path, { recursive: true, maxRetries: 10 }));
    [folder, cache] = [path, join(path, 'cache')];
    now = 0;
  });
  afterEach(async () => {
    for (const close of closing.splice(0).reverse()) await close();
  });

  const open = (kept: { cache?: string | undefined } = { cache }) =>
    new TrustRoots({ folder, cache: kept.cache, now: () => now });
  const read = (roots: TrustRoots, host?: string, milliseconds = 60_000) =>
    roots.of(host, AbortSignal.timeout(milliseconds)).then(
      ({ certificateAuthorities, tlogs }) => [certificateAuthorities.length, tlogs.length],
      (error: unknown) => (error instanceof Error ? error.message : ''),
    );
  const allow = (host: string, text: string) => writeFileSync(join(folder, `${host.replace(':', '_')}.json`), text);
  async function serve(lifespan?: number): Promise<TufRepository> {
    const repository = await serveTuf(trustedRoot, lifespan);
    closing.push(() => repository.close());
    allow(repository.host, repository.root);
    return repository;
  }

  it("come by TUF from the administrator's root, and stay valid for an hour", async () => {
    const { host, asked } = await serve();
    const roots = open();
    expect(await read(roots, host)).toEqual([1, 1]);
    expect(asked).toContain('/timestamp.json');
    const first = asked.length;
    now = HOUR - 1;
    expect([await read(roots, `https://${host}/`), asked.length]).toEqual([[1, 1], first]);
    now = HOUR + 1;
    expect([await read(roots, host), asked.length > first]).toEqual([[1, 1], true]);
  });

  it('come from the state folder while their repository is unavailable, and are missing without a stored copy', async () => {
    const repository = await serve();
    expect(await read(open(), repository.host)).toEqual([1, 1]);
    await repository.close();
    expect(await read(open(), repository.host)).toEqual([1, 1]);
    expect(await read(open({ cache: join(folder, 'other') }), repository.host)).toContain('cannot be read');
  });

  it('exclude those of an expired repository', async () => {
    const repository = await serve(-HOUR);
    expect(await read(open(), repository.host)).toContain('cannot be read');
  });

  it('exclude those of a repository that another root signed', async () => {
    const [one, other] = [await serve(), await serve()];
    allow(one.host, other.root);
    expect(await read(open(), one.host)).toContain('cannot be read');
  });

  it('stop waiting at the deadline', async () => {
    const repository = await serve();
    repository.hang();
    expect(await read(open(), repository.host, 50)).toContain('cannot be read');
  });

  it('come by one read for all parallel callers, even if one of them leaves', async () => {
    const { host, asked } = await serve();
    const roots = open();
    const [gone, ...others] = [roots.of(host, AbortSignal.abort()), read(roots, host), read(roots, host)];
    await expect(gone).rejects.toThrow('cannot be read');
    expect(await Promise.all(others)).toEqual([
      [1, 1],
      [1, 1],
    ]);
    expect(asked.filter((path) => path === '/timestamp.json')).toHaveLength(1);
  });

  it('come by another read after a failed one', async () => {
    const roots = open();
    allow('sigstore.example', '{}');
    expect(await read(roots, 'sigstore.example')).toContain('holds none');
    allow('sigstore.example', trustedRoot);
    expect(await read(roots, 'sigstore.example')).toEqual([1, 1]);
  });

  it('come by another read of a failed mirror only after 30 s', async () => {
    const repository = await serve(-HOUR);
    const roots = open();
    expect(await read(roots, repository.host)).toContain('cannot be read');
    const asked = repository.asked.length;
    now = 29_999;
    expect([await read(roots, repository.host), repository.asked.length]).toEqual([
      expect.stringContaining('cannot be read'),
      asked,
    ]);
    now = 30_000;
    await read(roots, repository.host);
    expect(repository.asked.length).toBeGreaterThan(asked);
  });

  it('leave no file without a state folder', async () => {
    const { host } = await serve();
    const usual = process.env.TMPDIR;
    process.env.TMPDIR = join(folder, 'tmp');
    mkdirSync(process.env.TMPDIR);
    closing.push(() => Promise.resolve(usual === undefined ? delete process.env.TMPDIR : (process.env.TMPDIR = usual)));
    expect(await read(open({}), host)).toEqual([1, 1]);
    expect(readdirSync(join(folder, 'tmp'))).toEqual([]);
    expect(existsSync(cache)).toBe(false);
  });

  it("come from the administrator's file if it holds them", async () => {
    allow('sigstore.example', trustedRoot);
    expect(await read(open(), 'sigstore.example')).toEqual([1, 1]);
    expect(await read(open(), 'https://sigstore.example')).toEqual([1, 1]);
    allow('tuf-repo-cdn.sigstore.dev', trustedRoot);
    expect(await read(open())).toEqual([1, 1]);
  });

  it.each([
    ['no JSON', '{', 'sigstore.example', 'holds none'],
    ['no roots', '{}', 'sigstore.example', 'holds none'],
    ['too many bytes', ' '.repeat(1_048_577), 'sigstore.example', 'holds none'],
    ['another instance', '', 'evil.example', 'evil.example, which vmcp has no roots of'],
    ['a path', '', 'sigstore.example/evil', 'no sigstore instance'],
    ['a way out of the folder', '', '..%2f..%2fetc', 'no sigstore instance'],
  ])('exclude %s', async (_, text, host, why) => {
    if (text !== '') allow('sigstore.example', text);
    expect(await read(open(), host)).toContain(why);
  });
});
