import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { openSkillsFixture, skillText, type SkillsFixture } from '#management/skills/testdata/skills-fixture';
import { type GitServer, type Interception, serveGit, type Tree } from './serve-git.ts';

let fixture: SkillsFixture;
let server: GitServer;
let intercept: Interception;
beforeEach(async () => {
  intercept = () => false;
  server = await serveGit((request, response) => intercept(request, response));
  fixture = await openSkillsFixture();
});
afterEach(async () => {
  await fixture.close();
  await server.close();
});

const NOTES = { 'SKILL.md': skillText('notes'), 'run.sh': { program: '#!/bin/sh\n' } } as const;
const allowed = { allow_private_ip: true };
const at = (repository: string, rest = '') => `git+${server.url}/${repository}${rest}`;
const install = (name: string, more: Record<string, unknown> = {}) => fixture.install({ name, ...allowed, ...more });

describe('a skill from a git repository', () => {
  it('comes from the first branch, or from a named branch, tag or commit, and the record names the commit', async () => {
    const first = server.commit('r.git', NOTES);
    server.tag('r.git', 'v1', first);
    const second = server.commit('r.git', { 'SKILL.md': skillText('notes', '', 'Newer.\n') });
    const third = server.commit('r.git', { 'SKILL.md': skillText('notes', '', 'Newest.\n') }, 'next');
    const wanted = [
      ['', second, undefined],
      ['@main', second, 'main'],
      ['@next', third, 'next'],
      ['@v1', first, 'v1'],
      [`@${first}`, first, first],
    ] as const;
    for (const [ref, commit, tag] of wanted) {
      const { status, body } = await install(at('r.git', ref), { force: true });
      expect([status, body.skill.reference, body.skill.tag]).toEqual([201, at('r.git', `@${commit}`), tag]);
    }
    const { body } = await install(at('r.git'), { version: 'v1', force: true });
    expect(body.skill).toMatchObject({ reference: at('r.git', `@${first}`), tag: 'v1' });
    expect(fixture.installed()).toEqual(['.claude/skills/notes/SKILL.md', '.claude/skills/notes/run.sh']);
    expect((await install(body.skill.reference, { force: true })).body.skill.digest).toBe(body.skill.digest);
    expect((await install(at('r.git', '@main'), { version: 'v1' })).status).toBe(400);
  });

  it('may be one folder of many', async () => {
    server.commit('r.git', {
      'README.md': 'x',
      'skills/notes/SKILL.md': skillText('notes'),
      'skills/other/SKILL.md': 'x',
    });
    const { status, body } = await install(at('r.git', '@main#skills/notes'));
    expect([status, body.skill.metadata.name]).toEqual([201, 'notes']);
    expect(fixture.installed()).toEqual(['.claude/skills/notes/SKILL.md']);
    for (const folder of ['skills/none', 'README.md', 'skills', 'skills/other'])
      expect([folder, (await install(at('r.git', `#${folder}`))).status]).toEqual([folder, 400]);
  });

  it('must have the name of its folder', async () => {
    server.commit('r.git', { 'skills/other/SKILL.md': skillText('notes') });
    const { status, body } = await install(at('r.git', '#skills/other'));
    expect([status, body.detail]).toEqual([400, expect.stringContaining('give both the same name')]);
  });

  it('installs the skills that it needs, also from other repositories, or none if one is missing', async () => {
    server.commit('b.git', { 'SKILL.md': skillText('beta') });
    server.commit('a.git', { 'SKILL.md': skillText('alpha', `requires:\n  - ${at('b.git')}\n`) });
    const { body } = await install(at('a.git'));
    expect(body.skill.dependencies).toEqual([
      { name: 'beta', reference: expect.stringContaining('b.git@'), digest: expect.stringContaining('sha256:') },
    ]);
    const { body: listed } = await fixture.ask('GET', '/skills');
    expect(listed.skills.map(({ metadata }) => metadata.name)).toEqual(['alpha', 'beta']);
    server.commit('c.git', { 'SKILL.md': skillText('gamma', `requires: [${at('b.git')}, ${at('none.git')}]\n`) });
    expect((await install(at('c.git'))).status).toBe(400);
    expect(fixture.installed()).toEqual(['.claude/skills/alpha/SKILL.md', '.claude/skills/beta/SKILL.md']);
    const refused = await fixture.ask('DELETE', '/skills/beta');
    expect([refused.status, refused.body.code]).toEqual([409, 'conflict']);
    expect((await fixture.ask('DELETE', '/skills/alpha')).status).toBe(204);
    expect((await fixture.ask('DELETE', '/skills/beta')).status).toBe(204);
  });

  it('fails if skills need each other in a circle, or if one names this machine', async () => {
    server.commit('a.git', { 'SKILL.md': skillText('alpha', `requires: [${at('b.git')}]\n`) });
    server.commit('b.git', { 'SKILL.md': skillText('beta', `requires: [${at('a.git')}]\n`) });
    const circle = await install(at('a.git'));
    expect([circle.status, circle.body.detail]).toEqual([400, expect.stringContaining('circle')]);
    for (const [n, local] of ['/etc', 'file:///etc', `git+file://${server.folder('b.git')}`].entries()) {
      server.commit(`l${n}.git`, { 'SKILL.md': skillText('alpha', `requires: ["${local}"]\n`) });
      const { status, body } = await install(at(`l${n}.git`));
      expect([status, body.detail]).toEqual([400, expect.stringContaining('of the machine')]);
    }
    expect(fixture.installed()).toEqual([]);
  });

  it('cannot name a private address of another host, which a stranger could reach through the server', async () => {
    const asked: string[] = [];
    const other = await serveGit((request) => asked.push(request.url ?? '') === 0);
    other.commit('b.git', { 'SKILL.md': skillText('beta') });
    server.commit('a.git', { 'SKILL.md': skillText('alpha', `requires: ["git+${other.url}/b.git"]\n`) });
    const { status, body } = await install(at('a.git'));
    expect([status, body.code, asked]).toEqual([400, 'bad_request', []]);
    const mine = fixture.write('alpha', { 'SKILL.md': skillText('alpha', `requires: ["git+${other.url}/b.git"]\n`) });
    expect((await install(mine)).status).toBe(201);
    await other.close();
  });

  it('comes from its folder if it is on this machine', async () => {
    server.commit('r.git', NOTES);
    const { status, body } = await fixture.install({ name: `git+file://${server.folder('r.git')}` });
    expect([status, body.skill.reference]).toEqual([201, expect.stringMatching(/^git\+file:\/\/\/.*@[0-9a-f]{40}$/)]);
  });
});

describe('a git repository', () => {
  it('at a private address gets no call unless the caller allows it', async () => {
    server.commit('r.git', NOTES);
    for (const name of [
      at('r.git'),
      `git://${server.host}/r.git`,
      'git://localhost/r.git',
      'git://169.254.169.254/r',
    ]) {
      const { status, body } = await fixture.install({ name });
      expect([name, status, body.code]).toEqual([name, 400, 'bad_request']);
    }
    expect(server.asked).toEqual([]);
    expect((await fixture.install({ name: at('r.git'), ...allowed })).status).toBe(201);
  });

  it.each([
    ['--upload-pack=touch /tmp/evil', ''],
    ['ext::sh -c touch%20/tmp/evil', ''],
    ['git+ext::sh -c true', ''],
    ['ssh://127.0.0.1/r.git', ''],
    ['git@127.0.0.1:r.git', ''],
    ['git+ssh://127.0.0.1/r.git', ''],
    ['-oProxyCommand=true', ''],
    ['git://--upload-pack=true/r.git', ''],
    ['git://user:hunter2@127.0.0.1/r.git', ''],
    ['git://user@127.0.0.1/r.git', ''],
    ['git://127.0.0.1/r.git?x=--upload-pack', ''],
    ['git://127.0.0.1/r.git', '--upload-pack=true'],
    ['git://127.0.0.1/r.git', '-x'],
    ['git://127.0.0.1/r.git', 'a..b'],
    ['git://127.0.0.1/r.git', 'a:b'],
    ['git://127.0.0.1/r.git', '+main'],
    ['git://127.0.0.1/r.git', 'main^{/x}'],
    ['git://127.0.0.1/r.git', 'a b'],
    ['git://127.0.0.1/r.git@-x', ''],
    ['git://127.0.0.1/r.git#../x', ''],
    ['git://127.0.0.1/r.git#-x', ''],
    ['git://127.0.0.1/r.git#:(glob)x', ''],
    ['git://127.0.0.1/r\n.git', ''],
    ['git://127.0.0.1:99999/r.git', ''],
  ])('written as %j with ref %j fails before git runs', async (name, version) => {
    const recorder = await recordedGit();
    const { status, body } = await recorder.place.install({ name, ...allowed, ...(version !== '' && { version }) });
    expect([status, body.code]).toEqual([400, 'bad_request']);
    expect(body.detail).not.toContain('hunter2');
    expect(recorder.calls()).toEqual([]);
    expect(existsSync('/tmp/evil')).toBe(false);
    await recorder.place.close();
  });

  it('gets requests of git only, without settings of user and machine, and each argument separately', async () => {
    const recorder = await recordedGit();
    const config = `[url "http://127.0.0.1:1/"]\n\tinsteadOf = ${server.url}/\n[credential]\n\thelper = "!touch ${fixture.base}/asked"\n`;
    writeFileSync(join(recorder.place.home, '.gitconfig'), config);
    server.commit('r.git', NOTES);
    const { status } = await recorder.place.install({ name: at('r.git', '@main'), ...allowed });
    expect(status).toBe(201);
    const fetch = recorder.calls().find((call) => call.includes('fetch')) ?? [];
    expect(fetch.slice(fetch.indexOf('--end-of-options'))).toEqual(['--end-of-options', `${server.url}/r.git`, 'main']);
    for (const call of recorder.calls()) {
      expect(call).toContain('protocol.allow=never');
      expect(call).toContain('core.hooksPath=/dev/null');
      expect(call.some((argument) => /upload-pack|receive-pack/.test(argument))).toBe(false);
    }
    await recorder.place.close();
  });

  it('with a login fails at once, without a prompt', async () => {
    intercept = (_request, response) => {
      response.writeHead(401, { 'www-authenticate': 'Basic realm="x"' }).end();
      return true;
    };
    const { status, body } = await install(at('r.git'));
    expect([status, body.detail]).toEqual([400, expect.stringContaining('login')]);
  });

  it('with a redirect fails without a call to its target', async () => {
    const other = await serveGit();
    other.commit('r.git', NOTES);
    intercept = (request, response) => {
      response.writeHead(302, { location: other.url + (request.url ?? '') }).end();
      return true;
    };
    const { status } = await install(at('r.git'));
    expect([status, other.asked]).toEqual([400, []]);
    await other.close();
  });

  it("without the repository or ref fails as the caller's fault", async () => {
    server.commit('r.git', NOTES);
    for (const name of [at('none.git'), at('r.git', '@none'), at('r.git', `@${'0'.repeat(39)}1`)])
      expect([name, (await install(name)).status]).toEqual([name, 400]);
  });

  it('with a broken or unreachable server fails as a source failure', async () => {
    intercept = (_request, response) => {
      response.writeHead(500).end('hunter2');
      return true;
    };
    const nonsense = await install(at('r.git'));
    expect([nonsense.status, nonsense.body.code]).toEqual([500, 'source_failed']);
    expect(JSON.stringify(nonsense.body)).not.toContain('hunter2');
    const nobody = await install('git+http://127.0.0.1:1/r.git');
    expect([nobody.status, nobody.body.code]).toEqual([500, 'source_failed']);
  });

  it('with a silent server fails at the deadline, and git ends', async () => {
    const closed: Promise<unknown>[] = [];
    intercept = (request) => {
      closed.push(new Promise((resolve) => request.socket.once('close', resolve)));
      return true;
    };
    const hasty = await openSkillsFixture({}, { deadline: 1000 });
    const { status, body } = await hasty.install({ name: at('r.git'), ...allowed });
    expect([status, body.code]).toEqual([503, 'unavailable']);
    await Promise.all(closed);
    expect(closed.length).toBeGreaterThan(0);
    expect(hasty.installed()).toEqual([]);
    await hasty.close();
  });

  const hostile: [string, Tree][] = [
    ['a link', { ...NOTES, passwd: { link: '/etc/passwd' } }],
    ['a link for a folder', { ...NOTES, scripts: { link: '..' } }],
    ['a link for SKILL.md', { 'SKILL.md': { link: '/etc/hostname' } }],
    ['names that differ in case', { ...NOTES, 'a.md': '1', 'A.md': '2' }],
    ['a name that is a device elsewhere', { ...NOTES, 'NUL.txt': '' }],
    ['a name with backslashes', { ...NOTES, '..\\evil': '' }],
    ['more than 1000 files', { ...NOTES, ...Object.fromEntries([...Array(1001).keys()].map((n) => [`f${n}`, ''])) }],
    ['no SKILL.md', { 'README.md': 'x' }],
  ];
  it.each(hostile)('with %s fails, and nothing is installed', async (_what, tree) => {
    server.commit('r.git', tree);
    const { status, body } = await install(at('r.git'));
    expect([status, body.code]).toEqual([400, 'bad_request']);
    expect(fixture.installed()).toEqual([]);
  });

  it.each(['..', '.git', '.'])('with a tree that has an entry %s fails', async (name) => {
    server.commit('r.git', NOTES);
    const blob = server.git('r.git', ['hash-object', '-w', '--stdin'], 'evil');
    const inner = rawTree([['100644', 'evil', blob]]);
    const innerId = server.git('r.git', ['hash-object', '-t', 'tree', '-w', '--literally', '--stdin'], inner);
    const skill = server.git('r.git', ['hash-object', '-w', '--stdin'], skillText('notes'));
    const top = rawTree([
      ['40000', name, innerId],
      ['100644', 'SKILL.md', skill],
    ]);
    const topId = server.git('r.git', ['hash-object', '-t', 'tree', '-w', '--literally', '--stdin'], top);
    const commit = server.git('r.git', ['commit-tree', topId, '-m', 'evil']);
    server.git('r.git', ['update-ref', 'refs/heads/main', commit]);
    expect((await install(at('r.git'))).status).toBe(400);
    expect(fixture.installed()).toEqual([]);
  });

  it('runs none of its own programs', async () => {
    const mark = join(fixture.base, 'ran');
    const tree: Tree = {
      ...NOTES,
      '.gitattributes': '* filter=evil diff=evil merge=evil\nSKILL.md ident export-subst\n',
      '.gitmodules': `[submodule "s"]\n\tpath = s\n\turl = ext::sh -c touch% ${mark}\n`,
      s: { commit: server.commit('s.git', NOTES) },
      'post-checkout': { program: `#!/bin/sh\ntouch ${mark}\n` },
      config: `[filter "evil"]\n\tsmudge = touch ${mark}\n[core]\n\tfsmonitor = touch ${mark}\n`,
    };
    server.commit('r.git', tree);
    const { status } = await install(at('r.git'));
    expect([201, 400]).toContain(status);
    expect(existsSync(mark)).toBe(false);
  });

  it('beyond 500 MB unpacked fails, and none of its files stays', async () => {
    const big = join(fixture.base, 'big');
    writeFileSync(big, '');
    truncateSync(big, 530 * 1024 * 1024);
    server.commit('r.git', { ...NOTES, big: { file: big } });
    const { status, body } = await install(at('r.git'));
    expect([status, body.detail]).toEqual([400, expect.stringContaining('bytes')]);
    expect(fixture.installed()).toEqual([]);
    expect(readdirSync(join(fixture.state, 'staging'))).toEqual([]);
  }, 120_000);
});

function rawTree(entries: [mode: string, name: string, id: string][]): Buffer {
  return Buffer.concat(
    entries.map(([mode, name, id]) => Buffer.concat([Buffer.from(`${mode} ${name}\0`), Buffer.from(id, 'hex')])),
  );
}

/** Opens a place whose `git` records its arguments, and then runs the real git. */
async function recordedGit() {
  const folder = join(fixture.base, `bin-${Math.random().toString(36).slice(2)}`);
  const log = join(folder, 'log');
  mkdirSync(folder);
  const script = `#!/bin/sh\n{ printf '%s\\0' "$@"; printf '\\n\\0'; } >>"${log}"\nPATH=/usr/local/bin:/usr/bin:/bin exec git "$@"\n`;
  writeFileSync(join(folder, 'git'), script);
  chmodSync(join(folder, 'git'), 0o755);
  return {
    place: await openSkillsFixture({ PATH: `${folder}:/usr/local/bin:/usr/bin:/bin` }),
    calls: () =>
      (existsSync(log) ? readFileSync(log, 'utf8') : '')
        .split('\n\0')
        .slice(0, -1)
        .map((call) => call.split('\0').slice(0, -1)),
  };
}
