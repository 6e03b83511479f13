import { mkdirSync, mkdtempSync, readdirSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from '@jest/globals';
import { LocalSkills } from './local-skills.ts';
import { openSkillsFixture, skillText } from './testdata/skills-fixture.ts';

it('gives up a source that never answers after a while, for every caller', async () => {
  const silent = createServer((socket) => void socket.on('error', () => undefined).resume());
  await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve));
  const port = (silent.address() as { port: number }).port;
  const home = mkdtempSync(join(tmpdir(), 'vmcp-local-skills-'));
  const skills = new LocalSkills({
    folder: join(home, 'state'),
    home: { platform: 'linux', path: home, environment: {} },
    rules: {
      localPaths: true,
      privateAddresses: true,
      proxy: undefined,
      searchPath: '/usr/local/bin:/usr/bin:/bin',
      deadline: 500,
    },
    now: Date.now,
  }).for({ list: () => Promise.resolve([]), checkGroup: () => Promise.resolve() });
  const nothing = { version: undefined, archive: undefined, digest: undefined, clients: undefined, group: undefined };
  for (const reference of [`127.0.0.1:${port}/o/notes`, `git+http://127.0.0.1:${port}/r.git`]) {
    const request = { ...nothing, reference, scope: 'user' as const, projectRoot: undefined, force: false };
    const installing = skills.install({ ...request, allowPrivateAddress: true, signal: new AbortController().signal });
    await expect(installing).rejects.toMatchObject({
      code: 'source_failed',
      message: expect.stringContaining('in time'),
    });
  }
  expect(readdirSync(join(home, 'state/staging'))).toEqual([]);
  rmSync(home, { recursive: true });
  await new Promise((resolve) => silent.close(resolve));
});

it('rejects a folder with more than 500 MB before it copies anything', async () => {
  const fixture = await openSkillsFixture();
  const name = fixture.write('notes', { 'SKILL.md': skillText('notes') });
  mkdirSync(join(name, 'data'));
  for (const file of ['one', 'two']) {
    writeFileSync(join(name, 'data', file), '');
    truncateSync(join(name, 'data', file), 251 * 1024 * 1024);
  }
  const { status, body } = await fixture.install({ name });
  expect([status, body.detail]).toEqual([400, expect.stringContaining('bytes')]);
  expect(readdirSync(join(fixture.state, 'staging'))).toEqual([]);
  await fixture.close();
});
