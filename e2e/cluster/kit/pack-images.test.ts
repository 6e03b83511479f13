import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createHash } from 'node:crypto';
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { execFileSync } from 'node:child_process';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { packImages } from './pack-images.ts';
import { readDockerfile } from './read-dockerfile.ts';

const ROOT = join(import.meta.dirname, '../../..');
let folder: string;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'vmcp-pack-'));
});
afterAll(() => rmSync(folder, { recursive: true }));

/** Packs two layers of the same files, which it writes anew each time. */
function pack(name: string): string {
  const [base, app] = [join(folder, `${name}-base`), join(folder, `${name}-app`)];
  for (const at of [base, app]) mkdirSync(at);
  writeFileSync(join(base, 'node'), 'a program');
  chmodSync(join(base, 'node'), 0o755);
  writeFileSync(join(app, 'main.js'), name === 'other' ? 'other' : 'main');
  utimesSync(join(app, 'main.js'), new Date(), new Date(Date.now() - Math.random() * 1e9));
  const archive = join(folder, `${name}.tar`);
  const layers = [{ folder: base }, { folder: app, at: '/app' }];
  packImages(archive, [
    { name: 'vmcp.test/a:1', layers, config: { User: '1' } },
    { name: 'vmcp.test/b:1', layers: [{ folder: base }], config: {} },
  ]);
  return archive;
}

const hashOf = (file: string) => createHash('sha256').update(readFileSync(file)).digest('hex');
const entryOf = (archive: string, entry: string) =>
  execFileSync('tar', ['-xOf', archive, entry], { maxBuffer: 2 ** 26 });

interface Descriptor {
  digest: string;
  annotations?: Record<string, string>;
}

describe('packImages', () => {
  it('makes the same archive of the same files, regardless of their times', () => {
    expect(hashOf(pack('one'))).toBe(hashOf(pack('two')));
    expect(hashOf(pack('other'))).not.toBe(hashOf(join(folder, 'one.tar')));
  });

  it('stores each blob under its digest, a shared layer once, and the names of the images', () => {
    const archive = pack('whole');
    const blob = (digest: string) => entryOf(archive, `./blobs/sha256/${digest.slice('sha256:'.length)}`);
    const manifestOf = (digest: string) =>
      JSON.parse(blob(digest).toString()) as { config: Descriptor; layers: Descriptor[] };
    const { manifests } = JSON.parse(entryOf(archive, './index.json').toString()) as { manifests: Descriptor[] };
    expect(manifests.map(({ annotations }) => annotations?.['io.containerd.image.name'])).toEqual([
      'vmcp.test/a:1',
      'vmcp.test/b:1',
    ]);
    const [a, b] = manifests.map(({ digest }) => manifestOf(digest));
    expect(b?.layers[0]?.digest).toBe(a?.layers[0]?.digest);
    for (const { digest } of [...manifests, ...(a?.layers ?? []), a!.config]) {
      expect(`sha256:${createHash('sha256').update(blob(digest)).digest('hex')}`).toBe(digest);
    }
    const listed = execFileSync('tar', ['-tf', '-'], { input: blob(a!.layers[1]!.digest), encoding: 'utf8' });
    expect(listed).toContain('/app/main.js');
  });
});

describe('readDockerfile', () => {
  it('reads Dockerfiles whose build context has every script of the build', () => {
    const read = (file: string) => readFileSync(join(ROOT, file), 'utf8');
    const needed = ['scripts/build.ts', ...(read('scripts/build.ts').match(/scripts\/[\w-]+\.ts/g) ?? [])];
    for (const script of needed) expect(read('.dockerignore')).toContain(`!${script}\n`);
    expect(needed).toContain('scripts/undici-parts.ts');
  });

  it.each([
    ['operator', '/app/dist'],
    ['runtime', '/app/runtime.js'],
  ])('returns the entrypoint, the user and the staging commands of the %s', (program, starts) => {
    const { stage, config } = readDockerfile(join(ROOT, program, 'Dockerfile'));
    expect(config.Entrypoint[0]).toBe('node');
    expect(config.Entrypoint.join(' ')).toContain(starts);
    expect(config.User).toBe('65532:65532');
    expect(config.Env).toContain('NODE_ENV=production');
    expect(stage).toContain('/out');
    expect(stage).not.toContain('build.ts');
  });
});
