import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from '@jest/globals';
import { type Entries, tarOf, tgzOf } from '#management/skills/testdata/archives';
import { openSkillsFixture, skillText, type SkillsFixture } from '#management/skills/testdata/skills-fixture';
import { describeWithRegistry, digestOf, INDEX, MANIFEST, type OciRegistry, serveOci, TGZ } from './serve-oci.ts';

const NOTES: Entries = [{ name: 'notes/SKILL.md', text: skillText('notes') }];
const NOWHERE = `sha256:${'0'.repeat(64)}`;

describeWithRegistry('a skill from an OCI registry', () => {
  let registry: OciRegistry;
  let fixture: SkillsFixture;
  beforeAll(async () => {
    registry = await serveOci();
  });
  afterAll(() => registry.close());
  beforeEach(async () => {
    fixture = await openSkillsFixture();
  });
  afterEach(() => fixture.close());

  const install = (name: string, more: Record<string, unknown> = {}) =>
    fixture.install({ name: `${registry.host}/${name}`, allow_private_ip: true, ...more });
  const nothingStays = () => {
    expect(fixture.installed()).toEqual([]);
    expect(readdirSync(join(fixture.state, 'staging'))).toEqual([]);
  };

  it('comes from a tag, a digest or the latest tag, and the record pins the manifest', async () => {
    const digest = await registry.push('o/notes', 'v1', [{ bytes: await tgzOf(NOTES) }]);
    await registry.push('o/notes', 'latest', [{ bytes: await tarOf(NOTES), type: TGZ.replace('+gzip', '') }]);
    const { status, body } = await install('o/notes:v1');
    expect([status, body.skill]).toMatchObject([
      201,
      { reference: `${registry.host}/o/notes:v1@${digest}`, tag: 'v1', digest, status: 'installed' },
    ]);
    expect(readFileSync(join(fixture.home, '.claude/skills/notes/SKILL.md'), 'utf8')).toBe(skillText('notes'));
    const forced = { force: true };
    expect((await install(`o/notes@${digest}`, forced)).body.skill).toMatchObject({
      reference: `${registry.host}/o/notes@${digest}`,
      digest,
    });
    expect((await install('o/notes', { version: 'v1', ...forced })).body.skill).toMatchObject({ tag: 'v1', digest });
    expect((await install('o/notes', forced)).body.skill.digest).not.toBe(digest);
    expect((await install('o/notes:v1', { version: 'v2' })).status).toBe(400);
  });

  it('must have the requested digest', async () => {
    const digest = await registry.push('o/notes', 'pinned', [{ bytes: await tgzOf(NOTES) }]);
    const wrong = await install('o/notes:pinned', { digest: NOWHERE });
    expect([wrong.status, wrong.body.detail]).toEqual([400, expect.stringContaining(digest)]);
    nothingStays();
    expect((await install('o/notes:pinned', { digest })).status).toBe(201);
  });

  it('fails if a layer does not match its digest', async () => {
    const bytes = await tgzOf([{ name: 'notes/SKILL.md', text: skillText('notes', '', 'spoiled') }]);
    await registry.push('o/notes', 'spoiled', [{ bytes }]);
    const other = await tgzOf([{ name: 'notes/SKILL.md', text: skillText('notes', '', 'SPOILED') }]);
    writeFileSync(registry.fileOf(digestOf(bytes)), other.subarray(0, bytes.length));
    const { status, body } = await install('o/notes:spoiled');
    expect([status, body.code]).toEqual([500, 'source_failed']);
    nothingStays();
  });

  it('fails if the manifest does not match its digest', async () => {
    const digest = await registry.push('o/notes', 'bent', [
      { bytes: await tgzOf([{ name: 'SKILL.md', text: skillText('notes', '', 'bent') }]) },
    ]);
    const file = registry.fileOf(digest);
    writeFileSync(file, readFileSync(file, 'utf8').replace('"schemaVersion":2', '"schemaVersion": 2'));
    expect((await install(`o/notes@${digest}`)).body.code).toBe('source_failed');
    nothingStays();
  });

  it('comes from one platform if the index has several', async () => {
    const digest = await registry.push('o/notes', 'one', [{ bytes: await tgzOf(NOTES) }]);
    const size = readFileSync(registry.fileOf(digest)).length;
    const manifests = [{ mediaType: MANIFEST, digest, size, platform: { os: 'plan9', architecture: 'mips' } }];
    const index = await registry.putManifest(
      'o/notes',
      'many',
      { schemaVersion: 2, mediaType: INDEX, manifests },
      INDEX,
    );
    const { status, body } = await install('o/notes:many');
    expect([status, body]).toMatchObject([201, { skill: { digest: index } }]);
  });

  it('fails with several layers, or one of another type', async () => {
    const bytes = await tgzOf(NOTES);
    await registry.push('o/notes', 'two', [{ bytes }, { bytes: await tgzOf([{ name: 'more', text: 'x' }]) }]);
    await registry.push('o/notes', 'text', [{ bytes, type: 'text/plain' }]);
    await registry.push('o/notes', 'none', []);
    for (const tag of ['two', 'text', 'none']) {
      const { status, body } = await install(`o/notes:${tag}`);
      expect([tag, status, body.code]).toEqual([tag, 400, 'bad_request']);
    }
    nothingStays();
  });

  it("fails as the caller's fault if it does not exist", async () => {
    for (const name of ['o/none', 'o/notes:none', `o/notes@${NOWHERE}`])
      expect([name, (await install(name)).status]).toEqual([name, 400]);
    const nobody = await fixture.install({ name: '127.0.0.1:1/o/notes', allow_private_ip: true });
    expect([nobody.status, nobody.body.code]).toEqual([500, 'source_failed']);
  });

  it('at a private address gets no call unless the caller allows it', async () => {
    await registry.push('o/notes', 'v1', [{ bytes: await tgzOf(NOTES) }]);
    for (const host of [registry.host, 'localhost:5000', '169.254.169.254', '10.0.0.1', '[::1]:5000']) {
      const { status, body } = await fixture.install({ name: `${host}/o/notes:v1` });
      expect([host, status, body.code]).toEqual([host, 400, 'bad_request']);
    }
    nothingStays();
  });

  it.each([
    'notes',
    'owner/notes',
    '127.0.0.1:99999/o/notes',
    '127.0.0.1:1/O/notes',
    '127.0.0.1:1/o/../notes',
    '127.0.0.1:1/o/notes:-x',
    '127.0.0.1:1/o/notes@sha256:abc',
    'user:hunter2@127.0.0.1:1/o/notes',
    '127.0.0.1:1/o/notes?x',
    'oci://',
    '../notes',
  ])('fails if written as %j', async (name) => {
    const { status, body } = await fixture.install({ name, allow_private_ip: true });
    expect([status, body.code]).toEqual([400, 'bad_request']);
  });

  it('comes with all the skills that it needs, or not at all', async () => {
    const beta = await registry.push('o/beta', 'v1', [
      { bytes: await tgzOf([{ name: 'SKILL.md', text: skillText('beta') }]) },
    ]);
    const needs = (...names: string[]) => names.map((name) => `\n  - ${registry.host}/${name}`).join('');
    const alpha = (tag: string, ...names: string[]) => ({
      name: 'SKILL.md',
      text: skillText('alpha', `requires:${needs(...names)}\n`, tag),
    });
    await registry.push('o/alpha', 'v1', [{ bytes: await tgzOf([alpha('v1', 'o/beta:v1')]) }]);
    await registry.push('o/alpha', 'v2', [{ bytes: await tgzOf([alpha('v2', 'o/beta:v1', 'o/none:v1')]) }]);
    expect((await install('o/alpha:v2')).status).toBe(400);
    nothingStays();
    const { body } = await install('o/alpha:v1');
    expect(body.skill.dependencies).toEqual([
      { name: 'beta', reference: `${registry.host}/o/beta:v1@${beta}`, digest: beta },
    ]);
    expect(fixture.installed()).toEqual(['.claude/skills/alpha/SKILL.md', '.claude/skills/beta/SKILL.md']);
    expect((await fixture.ask('GET', '/skills/beta')).status).toBe(200);
  });

  const hostile: [string, Entries][] = [
    ['a path that leaves', [...NOTES, { name: 'notes/../../../evil', text: 'x' }]],
    ['an absolute path', [...NOTES, { name: '/tmp/evil', text: 'x' }]],
    ['a link', [...NOTES, { name: 'notes/passwd', type: 'symlink', linkname: '/etc/passwd' }]],
    ['a hard link', [...NOTES, { name: 'notes/passwd', type: 'link', linkname: '/etc/passwd' }]],
    ['a device', [...NOTES, { name: 'notes/zero', type: 'character-device', devmajor: 1, devminor: 5 }]],
  ];
  it.each(hostile)('fails with %s, and nothing is written', async (_what, entries) => {
    await registry.push('o/evil', 'v1', [{ bytes: await tgzOf(entries) }]);
    const { status, body } = await install('o/evil:v1');
    expect([status, body.code]).toEqual([400, 'bad_request']);
    nothingStays();
  });

  it('fails if it is small and unpacks beyond 500 MB, and none of its files stays', async () => {
    const block = Buffer.alloc(64 * 1024 * 1024);
    const bomb = await tgzOf([
      ...NOTES,
      ...Array.from({ length: 9 }, (_, n) => ({ name: `notes/f${n}`, text: block })),
    ]);
    expect(bomb.length).toBeLessThan(1_000_000);
    await registry.push('o/bomb', 'v1', [{ bytes: bomb }]);
    const { status, body } = await install('o/bomb:v1');
    expect([status, body.detail]).toEqual([400, expect.stringContaining('bytes')]);
    nothingStays();
  }, 120_000);
});
