import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { EXPECTED_CLIENTS } from '../clients/testdata/expected-clients.ts';
import { InstalledSkill } from '../records/skill.ts';
import { tgzOf, zipOf } from '../skills/testdata/archives.ts';
import { openSkillsFixture, skillText, type SkillsFixture } from '../skills/testdata/skills-fixture.ts';

let fixture: SkillsFixture;
beforeEach(async () => {
  fixture = await openSkillsFixture();
});
afterEach(() => fixture.close());

const names = (skills: readonly InstalledSkill[]) => skills.map(({ metadata }) => metadata.name);
const listed = async (query = '') => names((await fixture.ask('GET', `/skills${query}`)).body.skills);
const folderOf = (name: string, text = skillText(name)) => fixture.write(name, { 'SKILL.md': text });
const answered = ({ status, body }: Awaited<ReturnType<SkillsFixture['ask']>>) => [status, body.code];

describe('the operations on a skill from a folder', () => {
  it('install, list, return and uninstall it for the user', async () => {
    const more = 'metadata: { version: "1.2", author: Ann, tags: [a, b] }\n';
    const folder = fixture.write('notes', { 'SKILL.md': skillText('notes', more), 'scripts/run.sh': '#!/bin/sh\n' });
    const { status, body } = await fixture.install({ name: folder });
    expect([status, body]).toEqual([201, { skill: expect.anything() }]);
    const skill = InstalledSkill.parse(body.skill);
    const metadata = { name: 'notes', description: 'Does notes.', version: '1.2', author: 'Ann', tags: ['a', 'b'] };
    expect(skill).toMatchObject({ metadata, scope: 'user', reference: folder, status: 'installed', dependencies: [] });
    expect(skill.clients).toEqual(['claude-code']);
    expect(skill.digest).toMatch(/^sha256:[0-9a-f]{64}$/);
    expect(Date.now() - Date.parse(skill.installed_at)).toBeLessThan(60_000);
    expect(fixture.installed()).toEqual(['.claude/skills/notes/SKILL.md', '.claude/skills/notes/scripts/run.sh']);
    expect((await fixture.ask('GET', '/skills')).body).toEqual({ skills: [skill] });
    expect((await fixture.ask('GET', '/skills/notes')).body).toEqual({ installed_skill: skill, metadata });
    expect((await fixture.ask('DELETE', '/skills/notes')).status).toBe(204);
    expect(fixture.installed()).toEqual([]);
    expect((await fixture.ask('GET', '/skills')).body).toEqual({ skills: [] });
    expect(existsSync(join(folder, 'SKILL.md'))).toBe(true);
  });

  it('keep executable permissions, which are part of its version', async () => {
    const folder = fixture.write('notes', { 'SKILL.md': skillText('notes'), 'run.sh': '#!/bin/sh\n', 'a.txt': '' });
    chmodSync(join(folder, 'run.sh'), 0o755);
    expect((await fixture.install({ name: folder })).status).toBe(201);
    const modeOf = (file: string) => statSync(join(fixture.home, '.claude/skills/notes', file)).mode & 0o777;
    expect([modeOf('run.sh'), modeOf('a.txt')]).toEqual([0o755, 0o644]);
    chmodSync(join(folder, 'a.txt'), 0o755);
    const { status, body } = await fixture.install({ name: folder });
    expect([status, body.detail]).toEqual([409, expect.stringContaining('another version')]);
  });

  it('install it in the folder of each named client', async () => {
    const clients = EXPECTED_CLIENTS.map(({ id }) => id);
    const { body } = await fixture.install({ name: folderOf('notes'), clients });
    expect(body.skill.clients).toEqual(clients);
    expect(fixture.installed()).toEqual(
      [...new Set(EXPECTED_CLIENTS.map(({ skills: [user] }) => `${user}/notes/SKILL.md`))].sort(),
    );
    expect(await listed('?client=zed')).toEqual(['notes']);
    expect((await fixture.ask('DELETE', '/skills/notes')).status).toBe(204);
    expect(fixture.installed()).toEqual([]);
    expect(answered(await fixture.install({ name: folderOf('notes'), clients: ['emacs'] }))).toEqual([
      400,
      'bad_request',
    ]);
  });

  it('install it for the registered clients, or for those of its group', async () => {
    await fixture.ask('POST', '/clients', { name: 'cursor', groups: ['tools'] });
    await fixture.ask('POST', '/clients', { name: 'goose', groups: [] });
    const { body } = await fixture.install({ name: folderOf('notes'), group: 'tools' });
    expect(body.skill.clients).toEqual(['cursor', 'goose']);
    expect(await listed('?group=tools')).toEqual(['notes']);
    expect(await listed('?group=other')).toEqual([]);
    expect(await listed('?client=claude-code')).toEqual([]);
    expect(answered(await fixture.install({ name: folderOf('more'), group: 'none' }))).toEqual([400, 'bad_request']);
  });

  it('install it for a project, beside the same skill of the user and of other projects', async () => {
    const [one, two] = [fixture.write('one', { a: '' }), fixture.write('two', { a: '' })];
    const name = folderOf('notes');
    const inOne = { name, scope: 'project', project_root: one, clients: ['claude-code', 'zed'] };
    expect((await fixture.install(inOne)).status).toBe(201);
    expect((await fixture.install({ name, scope: 'project', project_root: two })).status).toBe(201);
    expect((await fixture.install({ name })).status).toBe(201);
    for (const path of ['.claude/skills/notes/SKILL.md', '.agents/skills/notes/SKILL.md'])
      expect(existsSync(join(one, path))).toBe(true);
    const all = (await fixture.ask('GET', '/skills')).body.skills;
    expect(all.map(({ scope, project_root: root }) => [scope, root])).toEqual(
      expect.arrayContaining([
        ['user', undefined],
        ['project', one],
        ['project', two],
      ]),
    );
    expect(await listed('?scope=project')).toHaveLength(2);
    expect(await listed(`?scope=project&project_root=${encodeURIComponent(one)}`)).toHaveLength(1);
    expect(await listed('?scope=user')).toHaveLength(1);
    const { body } = await fixture.ask('GET', `/skills/notes?project_root=${encodeURIComponent(one)}`);
    expect(body.installed_skill).toMatchObject({
      scope: 'project',
      project_root: one,
      clients: ['claude-code', 'zed'],
    });
    expect((await fixture.ask('DELETE', `/skills/notes?project_root=${encodeURIComponent(one)}`)).status).toBe(204);
    expect(await listed()).toHaveLength(2);
    expect(readdirSync(one, { recursive: true }).filter((path) => String(path).endsWith('.md'))).toEqual([]);
  });

  it('reject a project folder that links to a folder outside the project', async () => {
    const root = fixture.write('project', { a: '' });
    const outside = fixture.write('outside', { a: '' });
    symlinkSync(outside, join(root, '.claude'));
    const wanted = { name: folderOf('notes'), scope: 'project', project_root: root, clients: ['claude-code'] };
    expect(answered(await fixture.install(wanted))).toEqual([400, 'bad_request']);
    expect(answered(await fixture.install({ ...wanted, force: true }))).toEqual([400, 'bad_request']);
    expect(readdirSync(outside)).toEqual(['a']);
  });

  it('replace it only with force, and remove only its own files', async () => {
    const name = folderOf('notes');
    expect((await fixture.install({ name })).status).toBe(201);
    expect(answered(await fixture.install({ name }))).toEqual([409, 'already_exists']);
    folderOf('notes', skillText('notes', '', 'Newer.\n'));
    expect(answered(await fixture.install({ name }))).toEqual([409, 'already_exists']);
    expect((await fixture.install({ name, force: true })).status).toBe(201);
    const file = join(fixture.home, '.claude/skills/notes/SKILL.md');
    expect(readFileSync(file, 'utf8')).toContain('Newer.');
    expect((await fixture.install({ name, clients: ['goose'] })).body.skill.clients).toEqual(['claude-code', 'goose']);

    writeFileSync(file, 'mine');
    expect((await fixture.ask('GET', '/skills/notes')).body.installed_skill.status).toBe('failed');
    expect(answered(await fixture.install({ name, clients: ['zed'] }))).toEqual([409, 'conflict']);
    expect(answered(await fixture.ask('DELETE', '/skills/notes'))).toEqual([409, 'conflict']);
    expect(readFileSync(file, 'utf8')).toBe('mine');
    expect((await fixture.ask('DELETE', '/skills/notes?force=true')).status).toBe(204);
    expect(fixture.installed()).toEqual([]);

    mkdirSync(join(file, '..'), { recursive: true });
    writeFileSync(file, 'mine');
    expect(answered(await fixture.install({ name }))).toEqual([409, 'conflict']);
    expect(readFileSync(file, 'utf8')).toBe('mine');
  });

  it('reject links, and install the skills that it requires', async () => {
    const name = folderOf('notes');
    symlinkSync('/etc/passwd', join(name, 'passwd'));
    expect(answered(await fixture.install({ name }))).toEqual([400, 'bad_request']);
    const beta = folderOf('beta');
    const alpha = folderOf('alpha', skillText('alpha', `requires: ["${beta}"]\n`));
    const { body } = await fixture.install({ name: alpha });
    expect(body.skill.dependencies).toEqual([{ name: 'beta', reference: beta, digest: expect.any(String) }]);
    expect(await listed()).toEqual(['alpha', 'beta']);
    expect(answered(await fixture.ask('DELETE', '/skills/beta'))).toEqual([409, 'conflict']);
    const rootOf = (name: string) => ({ scope: 'project', project_root: fixture.write(name, { a: '' }) });
    expect((await fixture.install({ name: alpha, ...rootOf('one') })).status).toBe(201);
    expect((await fixture.install({ name: beta, ...rootOf('two') })).status).toBe(201);
    expect((await fixture.ask('DELETE', `/skills/beta?project_root=${fixture.base}/one`)).status).toBe(409);
    expect((await fixture.ask('DELETE', `/skills/beta?project_root=${fixture.base}/two`)).status).toBe(204);
    expect((await fixture.ask('DELETE', '/skills/beta?force=true')).status).toBe(204);
  });

  it('reject another digest than the requested one', async () => {
    const name = folderOf('notes');
    const wrong = { name, digest: `sha256:${'0'.repeat(64)}` };
    const { status, body } = await fixture.install(wrong);
    expect([status, body.detail]).toEqual([400, expect.stringContaining('digest')]);
    const { digest } = (await fixture.install({ name })).body.skill;
    expect((await fixture.install({ name, digest, force: true })).status).toBe(201);
  });
});

describe('installSkill from an archive', () => {
  const files = [{ name: 'notes/SKILL.md', text: skillText('notes') }];
  it.each([
    ['tar.gz', () => tgzOf(files)],
    ['zip', () => Promise.resolve(zipOf(files))],
  ])('unpacks %s and installs the skill', async (_kind, make) => {
    const { status, body } = await fixture.install({ archive: (await make()).toString('base64') });
    expect([status, body.skill.reference]).toEqual([201, `archive@${body.skill.digest}`]);
    expect(fixture.installed()).toEqual(['.claude/skills/notes/SKILL.md']);
  });

  it.each([
    ['a path that leaves', [...files, { name: '../evil', text: 'x' }]],
    ['a link', [...files, { name: 'notes/l', type: 'symlink' as const, linkname: '/etc/passwd' }]],
    ['a folder that has another name', [{ name: 'other/SKILL.md', text: skillText('notes') }]],
    ['a place of this machine', [{ name: 'SKILL.md', text: skillText('notes', 'requires: [/etc]\n') }]],
  ])('rejects %s and leaves no files behind', async (_what, entries) => {
    const archive = (await tgzOf(entries)).toString('base64');
    expect(answered(await fixture.install({ archive }))).toEqual([400, 'bad_request']);
    expect(fixture.installed()).toEqual([]);
    expect(readdirSync(join(fixture.state, 'staging'))).toEqual([]);
  });
});

describe('validateSkill', () => {
  const verdictOf = async (text: string, name = 'notes') => {
    const path = fixture.write(name, { 'SKILL.md': text });
    return (await fixture.ask('POST', '/skills/validate', { path })).body;
  };

  it('accepts a valid skill', async () => {
    const more = `license: MIT\ncompatibility: ${'x'.repeat(500)}\nallowed-tools: Read Write\n`;
    expect(await verdictOf(skillText('notes', more))).toEqual({ valid: true, errors: [], warnings: [] });
    const archive = (await tgzOf([{ name: 'notes/SKILL.md', text: skillText('notes') }])).toString('base64');
    expect((await fixture.ask('POST', '/skills/validate', { archive })).body.valid).toBe(true);
    expect(fixture.installed()).toEqual([]);
  });

  const front = (lines: string) => `---\n${lines}\n---\nDo it.\n`;
  it.each([
    ['no front matter', 'Do it.\n', 'front matter'],
    ['front matter that begins later', `\n${skillText('notes')}`, 'front matter'],
    ['no end of the front matter', '---\nname: notes\ndescription: d\n', 'front matter'],
    ['an end within a line', '---\nname: notes\ndescription: a --- b\nx ---\n', 'front matter'],
    ['no YAML', front('name: [\ndescription: d'), 'SKILL.md:'],
    ['aliases', front('name: &a notes\ndescription: *a'), 'aliases'],
    ['no name', front('description: d'), 'name'],
    ['a name of one letter', front('name: n\ndescription: d'), 'name'],
    ['a name with capitals', front('name: Notes\ndescription: d'), 'name'],
    ['a name with two hyphens', front('name: my--notes\ndescription: d'), 'name'],
    ['a name of 65 letters', front(`name: ${'n'.repeat(65)}\ndescription: d`), 'name'],
    ['another name than its folder', skillText('other'), 'same name'],
    ['no description', front('name: notes'), 'description'],
    ['an empty description', front('name: notes\ndescription: "  "'), 'description'],
    ['a description of 1025 letters', front(`name: notes\ndescription: ${'d'.repeat(1025)}`), 'description'],
    ['a compatibility of 501 letters', skillText('notes', `compatibility: ${'x'.repeat(501)}\n`), 'compatibility'],
  ])('rejects %s', async (_what, text, said) => {
    const { valid, errors } = await verdictOf(text);
    expect([valid, errors.join()]).toEqual([false, expect.stringContaining(said)]);
  });

  it('rejects links, invalid archives and a skill without SKILL.md', async () => {
    const path = folderOf('notes');
    symlinkSync('..', join(path, 'up'));
    const { body } = await fixture.ask('POST', '/skills/validate', { path });
    expect([body.valid, body.errors.join()]).toEqual([false, expect.stringContaining('link')]);
    const empty = fixture.write('empty', { 'README.md': '' });
    expect((await fixture.ask('POST', '/skills/validate', { path: empty })).body.valid).toBe(false);
    const archive = (await tgzOf([{ name: '../evil', text: 'x' }])).toString('base64');
    expect((await fixture.ask('POST', '/skills/validate', { archive })).body.valid).toBe(false);
    const nonsense = Buffer.from('no archive').toString('base64');
    expect((await fixture.ask('POST', '/skills/validate', { archive: nonsense })).body.valid).toBe(false);
  });

  it('warns above 500 lines and rejects more than 1 MiB', async () => {
    const lines = (count: number) =>
      skillText('notes', '', 'x\n'.repeat(count - skillText('notes', '', '').split('\n').length));
    expect((await verdictOf(lines(500))).warnings).toEqual([]);
    expect((await verdictOf(lines(501))).warnings).toEqual([expect.stringContaining('501 lines')]);
    const bytes = (count: number) => skillText('notes', '', 'x'.repeat(count - skillText('notes', '', '').length));
    expect((await verdictOf(bytes(1_048_576))).valid).toBe(true);
    expect((await verdictOf(bytes(1_048_577))).errors).toEqual([expect.stringContaining('longer than 1048576 bytes')]);
  });

  it('warns about commas between tools and about a long text', async () => {
    const { valid, warnings } = await verdictOf(skillText('notes', 'allowed-tools: Read, Write\n', 'x\n'.repeat(500)));
    expect([valid, warnings]).toEqual([true, [expect.stringContaining('commas'), expect.stringContaining('500')]]);
  });
});

describe('installSkill and validateSkill', () => {
  it.each(['/skills', '/skills/validate'])('reject a body without name, path and archive: %s', async (path) => {
    const { status, body } = await fixture.ask('POST', path, {});
    expect(status).toBe(400);
    expect(body.detail).toMatch(/required field is missing; write (name|path), or archive/);
    expect(body.detail).not.toContain('exclude');
  });
});

describe('the status of an answer', () => {
  const damage = async () => {
    await fixture.install({ name: folderOf('notes') });
    const folder = join(fixture.state, 'records/user/skills');
    for (const file of readdirSync(folder)) if (file.endsWith('.json')) writeFileSync(join(folder, file), '{"half');
  };
  const block = () => {
    mkdirSync(fixture.state, { recursive: true });
    rmSync(join(fixture.state, 'staging'), { recursive: true, force: true });
    writeFileSync(join(fixture.state, 'staging'), '');
  };
  const nothing = () => undefined;

  it.each<[string, string, unknown, () => unknown, number, string]>([
    ['GET', '/skills/n', undefined, nothing, 400, 'bad_request'],
    ['GET', '/skills/notes?scope=project', undefined, nothing, 400, 'bad_request'],
    ['GET', '/skills/notes?project_root=here', undefined, nothing, 400, 'bad_request'],
    ['GET', '/skills/notes?scope=all', undefined, nothing, 400, 'bad_request'],
    ['GET', '/skills/notes', undefined, nothing, 404, 'not_found'],
    ['GET', '/skills/notes?project_root=/none', undefined, nothing, 404, 'not_found'],
    ['GET', '/skills/notes', undefined, damage, 500, 'store_damaged'],
    ['POST', '/skills', {}, nothing, 400, 'bad_request'],
    ['POST', '/skills', { name: '/none' }, nothing, 400, 'bad_request'],
    ['POST', '/skills', { name: '/etc', archive: 'YQ==' }, nothing, 400, 'bad_request'],
    ['POST', '/skills', { archive: 'no base64!' }, nothing, 400, 'bad_request'],
    ['POST', '/skills', { archive: 'YWJj', version: 'v1' }, nothing, 400, 'bad_request'],
    ['POST', '/skills', { name: '/etc', scope: 'project' }, nothing, 400, 'bad_request'],
    ['POST', '/skills', { name: '/etc', scope: 'project', project_root: 'here' }, nothing, 400, 'bad_request'],
    ['POST', '/skills', { name: '/etc', scope: 'project', project_root: '/none' }, nothing, 400, 'bad_request'],
    ['POST', '/skills', { name: '127.0.0.1:1/a/b', allow_private_ip: true }, nothing, 500, 'source_failed'],
    ['GET', '/skills', undefined, damage, 500, 'store_damaged'],
    ['DELETE', '/skills/n', undefined, nothing, 400, 'bad_request'],
    ['DELETE', '/skills/notes?scope=project', undefined, nothing, 400, 'bad_request'],
    ['DELETE', '/skills/notes', undefined, nothing, 404, 'not_found'],
    ['DELETE', '/skills/notes', undefined, damage, 500, 'store_damaged'],
    ['POST', '/skills/validate', {}, nothing, 400, 'bad_request'],
    ['POST', '/skills/validate', { path: 'here' }, nothing, 400, 'bad_request'],
    ['POST', '/skills/validate', { path: '/none' }, nothing, 400, 'bad_request'],
    ['POST', '/skills/validate', { path: '/etc', archive: 'YQ==' }, nothing, 400, 'bad_request'],
    ['POST', '/skills/validate', { archive: 'YWJj' }, block, 500, 'internal'],
  ])('matches the reference: %s %s with %j (%#)', async (method, path, body, prepare, status, code) => {
    await prepare();
    expect(answered(await fixture.ask(method, path, body))).toEqual([status, code]);
  });

  it('appears in the audit log for each change', async () => {
    await fixture.install({ name: folderOf('notes') });
    await fixture.ask('DELETE', '/skills/notes');
    await fixture.ask('GET', '/skills');
    expect(fixture.served.changes.map(({ type, outcome }) => [type, outcome])).toEqual([
      ['management_skill_installed', 'success'],
      ['management_skill_uninstalled', 'success'],
    ]);
  });
});
