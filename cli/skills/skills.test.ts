import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { makeHome, type OwnHome } from '../testdata/own-home.ts';

let home: OwnHome;
beforeEach(() => {
  home = makeHome();
});
afterEach(() => home.close());

const vmcp = (...args: string[]) => home.withoutFolder(['skill', ...args]);

/** Creates a folder with a skill. */
function skill(name: string, text = `---\nname: ${name}\ndescription: Reviews\n---\n# Review it\n`): string {
  const folder = join(home.path, 'sources', name);
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'SKILL.md'), text);
  return folder;
}
const read = (...path: string[]) => join(home.path, ...path, 'SKILL.md');

describe('vmcp skill', () => {
  it('installs a folder for a client, lists and describes it, and removes it after confirmation', async () => {
    const { code, err } = await vmcp('install', skill('review'), '--client', 'claude-code');
    expect([code, err]).toEqual([
      0,
      expect.stringMatching(/^installed review \(sha256:[0-9a-f]{64}\); for claude-code\n$/),
    ]);
    expect(readFileSync(read('.claude', 'skills', 'review'), 'utf8')).toContain('# Review it');
    expect((await vmcp('list')).out).toMatch(/^NAME +STATUS .*\nreview +installed +user +claude-code .* Reviews\n$/);
    expect((await vmcp('list', '-o', 'name')).out).toBe('review\n');
    expect((await vmcp('info', 'review')).out).toMatch(/status: installed/);
    expect((await vmcp('rm', 'review')).code).toBe(2);
    expect((await vmcp('uninstall', 'no-such', 'review', '--yes')).code).toBe(6);
    expect(existsSync(read('.claude', 'skills', 'review'))).toBe(false);
    expect((await vmcp('list')).err).toContain('skill install <reference>');
  });

  it('installs a local archive for a project', async () => {
    skill('review');
    const archive = join(home.path, 'review.tar.gz');
    execFileSync('tar', ['-C', join(home.path, 'sources'), '-czf', archive, 'review']);
    const project = join(home.path, 'project');
    mkdirSync(project);
    const done = await vmcp('install', archive, '--client', 'claude-code', '--project', project, '-o', 'json');
    expect([done.code, JSON.parse(done.out)]).toEqual([
      0,
      expect.objectContaining({ scope: 'project', project_root: project }),
    ]);
    expect(existsSync(read('project', '.claude', 'skills', 'review'))).toBe(true);
    expect((await vmcp('list', '--project', project, '--scope', 'project', '-o', 'name')).out).toBe('review\n');
  });

  it('rejects an archive that is too long without sending it', async () => {
    const archive = join(home.path, 'review.tar');
    writeFileSync(archive, '');
    truncateSync(archive, 3_000_001);
    expect(await vmcp('install', archive)).toMatchObject({
      code: 1,
      err: expect.stringContaining('is longer than 3000000 bytes'),
    });
  });

  it('reports the errors of an invalid skill and does not install it', async () => {
    expect(await vmcp('validate', skill('review'))).toMatchObject({
      code: 0,
      err: expect.stringContaining('can be installed'),
    });
    const wrong = skill('wrong', '---\nname: other\ndescription: ""\n---\n');
    const verdict = await vmcp('validate', wrong);
    expect([verdict.code, verdict.err]).toEqual([1, expect.stringContaining('description: is empty')]);
    expect(JSON.parse((await vmcp('validate', wrong, '-o', 'json')).out)).toMatchObject({ valid: false });
    expect((await vmcp('install', wrong, '--client', 'claude-code')).code).toBe(1);
    expect((await vmcp('validate', join(home.path, 'nowhere'))).code).toBe(2);
    expect((await vmcp('install', './nowhere')).err).toContain('./nowhere: there is no such folder');
    expect((await vmcp('list', '-o', 'name')).out).toBe('');
  });
});
