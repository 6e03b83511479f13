import { createHash } from 'node:crypto';
import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { callTool } from '../local/call-tool.ts';
import { type FirstFolder, makeFirstFolder } from './first-folder.ts';

const SECRET = 'hunter2-of-a-new-user';
const DIGEST = createHash('sha256').update(SECRET).digest('hex');

let place: FirstFolder;
beforeAll(() => {
  place = makeFirstFolder();
});
afterAll(() => place.close());

/** Returns the texts of all files below a folder. */
function textsBelow(folder: string): string {
  return readdirSync(join(place.path, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => readFileSync(join(entry.parentPath, entry.name), 'utf8'))
    .join('\n');
}

describe('a new user with --help only', () => {
  it('reads all commands, with examples', async () => {
    const { stdout } = await place.vmcp('--help');
    for (const command of ['registry', 'run', 'secret', 'list', 'connect']) expect(stdout).toMatch(`  ${command} `);
    const { stdout: help } = await place.vmcp('run', '--help');
    expect(help).toMatch(/Examples:\n {2}\$ .* run memory\n/);
    expect(help).toContain('vmcp registry search');
  });

  it('finds a server, and the values that it takes', async () => {
    expect((await place.vmcp('registry', 'set', 'servers.json')).code).toBe(0);
    expect((await place.vmcp('registry', 'search', 'secret', '-o', 'name')).stdout).toBe('tell-secret\n');
    expect((await place.vmcp('registry', 'info', 'tell-secret')).stdout).toMatch(/TOKEN +needed, secret +Any word/);
  });

  it('reads what is missing without a terminal, runs nothing by a misspelt name, and leaves no file behind in both cases', async () => {
    const { code, stderr } = await place.vmcp('run', 'tell-secret');
    expect([code, stderr]).toEqual([2, expect.stringContaining('TOKEN: --secret TOKEN=@file  (Any word)')]);
    const misspelt = await place.vmcp('run', 'tel-secret');
    expect([misspelt.code, misspelt.stderr]).toEqual([6, expect.stringContaining('npx://tel-secret')]);
    const inline = await place.vmcp('run', 'tell-secret', '--secret', `TOKEN=${SECRET}`);
    expect([inline.code, inline.stderr]).toEqual([2, expect.not.stringContaining(SECRET)]);
    expect(existsSync(join(place.path, 'vmcp'))).toBe(false);
    expect((await place.vmcp('secret', 'list', '-o', 'name')).stdout).toBe('');
  });

  it('starts the server with one command that asks for its secret, and calls a tool that uses the secret', async () => {
    const shown = await place.onTerminal(
      ['run', 'tell-secret', '--timeout', '100s', '--', '--quietly'],
      [['TOKEN (Any word): ', SECRET]],
    );
    expect(shown).not.toContain(SECRET);
    expect(shown).toContain('The registry suggests the arguments: -- --loud');
    const [, url = ''] =
      /^tools +Ready +(http:\/\/127\.0\.0\.1:\d+\/mcp)/m.exec(stripVTControlCharacters(shown).replaceAll('\r', '\n')) ??
      [];
    const told = await callTool(url, 'tell-secret_tell');
    expect(told).toEqual({ digest: DIGEST, mode: 'quiet', args: ['--quietly'] });
    expect(shown).toMatch(/connect cursor --write/);
  }, 120_000);

  it('finds the secret in no manifest, log or process list', async () => {
    expect(textsBelow('vmcp')).toContain('key: tell-secret.TOKEN');
    const all =
      textsBelow('vmcp') + textsBelow('.vmcp/logs') + execFileSync('ps', ['-eo', 'args'], { encoding: 'utf8' });
    expect(all).not.toContain(SECRET);
    expect((await place.vmcp('export', 'tell-secret')).stdout).not.toContain(SECRET);
    expect((await place.vmcp('secret', 'list', '-o', 'name')).stdout).toBe('tell-secret.TOKEN\n');
  });

  it('stops the server, and starts it again with its secret by the next up', async () => {
    expect((await place.vmcp('down')).code).toBe(0);
    expect((await place.vmcp('list')).stderr).toMatch(/list --all/);
    expect((await place.vmcp('list', '--all', '-o', 'name')).stdout).toBe('tell-secret\n');
    const { code, stdout } = await place.vmcp('up', 'vmcp', '--detach', '--timeout', '100s');
    const [, url = ''] = /^tools +Ready +(http:\S+)/m.exec(stdout) ?? [];
    expect([code, await callTool(url, 'tell-secret_tell')]).toEqual([0, expect.objectContaining({ digest: DIGEST })]);
  }, 120_000);

  it('reads why the first server does not start, and how to fix it', async () => {
    const other = makeFirstFolder();
    try {
      const { code, stdout, stderr } = await other.vmcp('run', 'npx://tell-nothing', '--timeout', '100s');
      expect([code, stdout]).toEqual([3, expect.stringMatching(/^tools +Degraded/)]);
      expect(stderr).toMatch(
        /tell-nothing is there, but its tools are not listed: its program .*, \d times[^]*\n.*logs tell-nothing/,
      );
    } finally {
      await other.close();
    }
  }, 120_000);
});
