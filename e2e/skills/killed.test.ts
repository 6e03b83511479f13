import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { openSkillsFixture, skillText, type SkillsFixture } from '#management/skills/testdata/skills-fixture';
import { findFreePort } from '../gateway/find-free-port.ts';
import { server, whoami } from '../local/manifests.ts';
import { eventually, PROGRAM } from '../local/run-vmcp.ts';

const WORKER = join(import.meta.dirname, 'testdata/install-without-end.ts');
const FILES = 200;

let fixture: SkillsFixture;
const running = new Set<ChildProcess>();
beforeEach(async () => {
  fixture = await openSkillsFixture();
});
afterEach(async () => {
  for (const child of running) await kill(child);
  await fixture.close();
});

function run(args: string[], cwd = fixture.base): ChildProcess {
  const env = { ...process.env, HOME: fixture.home, XDG_STATE_HOME: undefined, XDG_CONFIG_HOME: undefined };
  const child = spawn(process.execPath, args, { cwd, env, stdio: ['ignore', 'pipe', 'inherit'] });
  running.add(child);
  child.once('close', () => running.delete(child));
  return child;
}

async function kill(child: ChildProcess): Promise<void> {
  const ended = new Promise((resolve) => child.once('close', resolve));
  child.kill('SIGKILL');
  await ended;
}

/** Writes a skill with these words. Skills with other words have other files, too. */
function skillWith(words: string): string {
  const files = Array.from({ length: FILES }, (_, n): [string, string] => [`${words}/${n}.md`, words.repeat(100)]);
  return fixture.write(`${words}/notes`, { 'SKILL.md': skillText('notes', '', words), ...Object.fromEntries(files) });
}

const work = () => join(fixture.state, 'work.json');
const hidden = () => fixture.installed().filter((path) => path.includes('/.notes.'));

/** Verifies that each client has the whole of one skill or nothing. Returns the skill's words. */
async function checkWhole(): Promise<string> {
  const { body } = await fixture.ask('GET', '/skills');
  expect(hidden()).toEqual([]);
  expect(existsSync(work())).toBe(false);
  if (body.skills.length === 0) {
    expect(fixture.installed()).toEqual([]);
    return '';
  }
  const [whole] = [(await fixture.ask('GET', '/skills/notes')).body.installed_skill];
  expect(whole).toMatchObject({ status: 'installed', clients: ['claude-code', 'goose'] });
  expect(fixture.installed()).toHaveLength(2 * (FILES + 1));
  return readFileSync(join(fixture.home, '.claude/skills/notes/SKILL.md'), 'utf8').split('---\n').at(-1) ?? '';
}

/** Starts the worker. Returns it while it works on a skill, at least `after` milliseconds after its first installation. */
async function untilItWorks(after: number): Promise<ChildProcess> {
  const child = run([WORKER, fixture.base, join(fixture.base, 'one/notes'), join(fixture.base, 'two/notes')]);
  await new Promise((resolve) => child.stdout?.once('data', resolve));
  await sleep(after);
  const end = Date.now() + 20_000;
  while (!existsSync(work()) && Date.now() < end) await sleep(1);
  return child;
}

describe('a process killed while it changes a skill', () => {
  it('has made the whole change or none', async () => {
    skillWith('one');
    skillWith('two');
    const seen: string[] = [];
    for (let round = 0; round < 8; round += 1) {
      await kill(await untilItWorks(round * 37));
      seen.push(await checkWhole());
    }
    expect(seen.filter((words) => !['', 'one', 'two'].includes(words))).toEqual([]);
    const name = join(fixture.base, 'one/notes');
    expect((await fixture.install({ name, clients: ['claude-code', 'goose'], force: true })).status).toBe(201);
    expect(await checkWhole()).toBe('one');
    expect(readdirSync(join(fixture.state, 'staging'))).toEqual([]);
  }, 240_000);

  it('shows its work as pending to others, who get busy', async () => {
    skillWith('one');
    skillWith('two');
    const child = await untilItWorks(0);
    for (let tries = 0; ; tries += 1) {
      child.kill('SIGSTOP');
      if (existsSync(work()) || tries > 1000) break;
      child.kill('SIGCONT');
      await sleep(1);
    }
    const { body } = await fixture.ask('GET', '/skills');
    expect(body.skills.map(({ status }) => status)).toEqual(['pending']);
    expect((await fixture.ask('GET', '/skills/notes')).body.installed_skill.status).toBe('pending');
    const refused = await fixture.install({ name: join(fixture.base, 'one/notes') });
    expect([refused.status, refused.body.code]).toEqual([409, 'busy']);
    await kill(child);
    await checkWhole();
  }, 120_000);

  it('may be the operator itself, which starts again', async () => {
    skillWith('one');
    fixture.write('manifests', {
      'server.yaml': server('demo', await findFreePort()),
      'whoami.yaml': whoami('whoami', 'demo', await findFreePort()),
    });
    const address = join(fixture.base, '.vmcp/management-address');
    const start = async () => {
      rmSync(address, { force: true });
      const child = run([PROGRAM, 'up', 'manifests']);
      child.stdout?.resume();
      await eventually(() => existsSync(address), Boolean);
      const token = readFileSync(join(fixture.base, '.vmcp/management-token'), 'utf8');
      const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
      const ask = async (method: string, path: string, body?: unknown) => {
        const url = `${readFileSync(address, 'utf8')}/api/v1beta${path}`;
        return fetch(url, { method, headers, ...(body !== undefined && { body: JSON.stringify(body) }) });
      };
      return { child, ask };
    };
    const first = await start();
    const wanted = { name: join(fixture.base, 'one/notes'), clients: ['claude-code', 'goose'] };
    const asked = first.ask('POST', '/skills', wanted).catch(() => undefined);
    const end = Date.now() + 20_000;
    while (!existsSync(work()) && Date.now() < end) await sleep(1);
    expect(existsSync(work())).toBe(true);
    await kill(first.child);
    await asked;
    const second = await start();
    const { skills } = (await (await second.ask('GET', '/skills')).json()) as { skills: unknown[] };
    expect(skills.length).toBe((await checkWhole()) === '' ? 0 : 1);
    second.child.kill('SIGTERM');
    await new Promise((resolve) => second.child.once('close', resolve));
  }, 120_000);
});
