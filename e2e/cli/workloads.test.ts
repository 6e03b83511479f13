import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { parse } from 'yaml';
import { callTool, connect } from '../local/call-tool.ts';
import { eventually } from '../local/run-vmcp.ts';
import { type FirstFolder, makeFirstFolder } from './first-folder.ts';

let place: FirstFolder;
let endpoint: string;
const vmcp = (...args: string[]) => place.vmcp(...args);
const PATIENCE = ['--timeout', '100s'];
const MINUTES = 240_000;

beforeAll(async () => {
  place = makeFirstFolder();
  writeFileSync(join(place.path, 'token'), 'a word\n');
  const given = ['--secret', 'TOKEN=@token', '--env', 'MODE=first'];
  const { code, stdout, stderr } = await vmcp('run', 'npx://tell-secret', '--name', 'first', ...given, ...PATIENCE);
  if (code !== 0) throw new Error(stdout + stderr);
  endpoint = /http:\/\/127\.0\.0\.1:\d+\/mcp/.exec(stdout)?.[0] ?? '';
}, MINUTES);
afterAll(() => place.close());

async function toolsNow(): Promise<string[]> {
  const client = await connect(endpoint);
  try {
    return (await client.listTools()).tools.map(({ name }) => name).sort();
  } finally {
    await client.close();
  }
}

/** Returns the environment for an editor that makes one change to the text. */
function editor(line: string): NodeJS.ProcessEnv {
  const path = join(place.path, 'editor');
  writeFileSync(path, `#!/bin/sh\n${line}\n`);
  chmodSync(path, 0o755);
  return { HOME: join(place.path, 'home'), VISUAL: '', EDITOR: path };
}

describe('the workload commands', () => {
  it(
    'run an npm package beside other workloads, without restarting any',
    async () => {
      const { code, stdout, stderr } = await vmcp('run', 'npx://tell-secret', '--name', 'second', ...PATIENCE);
      expect(stderr).toContain('second is running, with 1 tool\n');
      expect([code, stdout]).toEqual([0, expect.stringContaining(`tools  ${endpoint}\n`)]);
      expect(await toolsNow()).toEqual(['first_tell', 'second_tell']);
      const taken = await vmcp('run', 'npx://tell-secret', '--name', 'second');
      expect([taken.code, taken.stderr]).toEqual([7, expect.stringMatching(/already: .*--name.*rm second/)]);
      const nowhere = await vmcp('run', 'npx://tell-secret', '--name', 'third', '--secret', 'TOKEN=key:nowhere');
      expect([nowhere.code, nowhere.stderr]).toEqual([6, expect.stringContaining('there is: first.TOKEN')]);
      expect((await vmcp('list', '--all', '-o', 'name')).stdout).toBe('first\nsecond\n');
    },
    MINUTES,
  );

  it(
    'list workloads in every format, and by group',
    async () => {
      const { stdout } = await vmcp('list');
      expect(stdout).toMatch(
        /^NAME +STATUS +GROUP +TRANSPORT +RUNS +URL +REASON\nfirst +running +tools +stdio +tell-secret +-/,
      );
      const records = JSON.parse((await vmcp('list', '-o', 'json')).stdout) as { name: string; status: string }[];
      expect(records.map(({ name, status }) => [name, status])).toEqual([
        ['first', 'running'],
        ['second', 'running'],
      ]);
      expect(parse((await vmcp('list', '-o', 'yaml')).stdout)).toEqual(records);
      expect((await vmcp('list', '--group', 'nowhere')).code).toBe(6);
      expect(JSON.parse((await vmcp('group', 'list', '-o', 'json')).stdout)).toMatchObject([
        { name: 'tools', workloads: ['first', 'second'] },
      ]);
    },
    MINUTES,
  );

  it(
    'stop and start workloads, wait for the result, and watch it',
    async () => {
      const watching = place.start(['list', '--all', '--watch', '-o', 'json']);
      await eventually(watching.output, (text) => text.includes('"second"'), 60_000);
      expect(await vmcp('stop', 'second', ...PATIENCE)).toMatchObject({ code: 0, stderr: 'second: stopped\n' });
      await eventually(
        () => vmcp('list', '--all', '-o', 'json'),
        ({ stdout }) => JSON.parse(stdout).length === 2,
      );
      await eventually(watching.output, (text) => text.includes('"status":"stopped"'), 60_000);
      watching.signal('SIGINT');
      expect(await watching.ended).toBe(0);
      expect((await vmcp('list', '-o', 'name')).stdout).toBe('first\n');
      await eventually(toolsNow, (tools) => tools.join() === 'first_tell', 60_000);
      expect(await vmcp('stop', '--group', 'tools', ...PATIENCE)).toMatchObject({
        code: 0,
        stderr: 'first: stopped\n',
      });
      expect(await vmcp('stop', '--group', 'tools')).toMatchObject({ code: 0, stderr: 'nothing to do\n' });
      expect(await vmcp('start', '--group', 'tools', ...PATIENCE)).toMatchObject({
        code: 0,
        stderr: 'first, second: started\n',
      });
      expect(await toolsNow()).toEqual(['first_tell', 'second_tell']);
    },
    MINUTES,
  );

  it(
    'edit workloads in an editor, apply a removed line, and refuse an invalid edit',
    async () => {
      const louder = await place.run(['edit', 'first'], editor(`sed -i 's/MODE: first/MODE: second/' "$1"`));
      expect([louder.code, louder.stderr]).toEqual([0, 'first is changed\n']);
      await eventually(
        () => callTool(endpoint, 'first_tell').catch(() => undefined),
        (told) => told?.mode === 'second',
        60_000,
      );
      const without = await place.run(['edit', 'first'], editor(`sed -i '/^env_vars:/d; /MODE: /d' "$1"`));
      expect(without.code).toBe(0);
      expect(parse((await vmcp('get', 'first')).stdout)).not.toHaveProperty('env_vars');
      expect(await place.run(['edit', 'first'], editor('true'))).toMatchObject({
        code: 0,
        stderr: 'nothing was changed\n',
      });
      writeFileSync(join(place.path, 'wrong.yaml'), 'transprot: stdio\n');
      const wrong = await vmcp('edit', 'first', '--file', 'wrong.yaml');
      expect([wrong.code, wrong.stderr]).toEqual([1, expect.stringContaining('transprot')]);
      writeFileSync(join(place.path, 'kept.yaml'), (await vmcp('get', 'first')).stdout);
      const kept = await vmcp('edit', 'first', '--file', 'kept.yaml');
      expect([kept.code, kept.stderr]).toEqual([0, 'nothing was changed\n']);
      expect((await vmcp('logs', 'frist')).stderr).toContain('(there is: first, second, ');
      writeFileSync(join(place.path, 'bare.yaml'), 'group: tools\n');
      const bare = await vmcp('edit', 'first', '--file', 'bare.yaml');
      expect([bare.code, bare.stderr]).toEqual([1, expect.stringContaining('nothing is left to run')]);
    },
    MINUTES,
  );

  it(
    'restart workloads, wait for the result, and show the log of one workload inside a server',
    async () => {
      const before = (await vmcp('logs', 'second')).stdout.split('\n').length;
      expect(await vmcp('restart', 'second', 'nowhere', ...PATIENCE)).toMatchObject({ code: 6 });
      await eventually(
        async () => (await vmcp('logs', 'second')).stdout.split('\n').length,
        (lines) => lines > before,
        60_000,
      );
      expect((await vmcp('logs', 'second')).stdout).not.toContain('"backend":"first"');
      const again = await vmcp('restart', 'second', ...PATIENCE);
      expect([again.code, again.stderr]).toEqual([0, expect.stringContaining('second: started anew')]);
      const listed = JSON.parse((await vmcp('list', '-o', 'json')).stdout) as { name: string; status: string }[];
      expect(listed.find(({ name }) => name === 'second')?.status).toBe('running');
      expect((await vmcp('logs', 'nowhere')).code).not.toBe(0);
    },
    MINUTES,
  );

  it('export workloads without their secrets', async () => {
    const { stdout } = await vmcp('export', 'first');
    expect(JSON.parse(stdout)).toMatchObject({ name: 'first', secrets: expect.anything() });
    expect(stdout).not.toContain('a word');
  });

  it('create groups for workloads, and refuse to delete a group in use', async () => {
    expect((await vmcp('group', 'create', 'empty', '--description', 'Nothing yet')).code).toBe(0);
    expect((await vmcp('group', 'edit', 'empty', '--description', 'Still nothing')).code).toBe(0);
    expect(parse((await vmcp('group', 'get', 'empty')).stdout)).toMatchObject({ description: 'Still nothing' });
    const held = await vmcp('group', 'rm', 'tools', 'empty');
    expect([held.code, held.stderr]).toEqual([7, expect.stringContaining('workload first')]);
    expect((await vmcp('group', 'list', '-o', 'name')).stdout).toBe('tools\n');
  });

  it(
    'delete workloads after confirmation, even if another named one does not exist',
    async () => {
      expect(await vmcp('rm', 'second')).toMatchObject({ code: 2, stderr: expect.stringContaining('--yes') });
      const shown = await place.onTerminal(['rm', 'second'], [['delete second? [y/N] ', 'n']]);
      expect(shown).toContain('nothing was changed');
      expect(await vmcp('rm', 'nowhere', 'second', '--yes', ...PATIENCE)).toMatchObject({ code: 6 });
      expect((await vmcp('list', '--all', '-o', 'name')).stdout).toBe('first\n');
      await eventually(toolsNow, (tools) => tools.join() === 'first_tell', 60_000);
    },
    MINUTES,
  );

  it(
    'report why a workload cannot be started, and keep it for inspection',
    async () => {
      const { code, stderr } = await vmcp('run', 'npx://tell-nothing', '--name', 'broken', '--timeout', '8s');
      expect([code, stderr]).toEqual([
        3,
        expect.stringMatching(/broken is there, but its tools are not listed: [^]*\n.*rm broken/),
      ]);
      expect((await vmcp('list', '--all', '-o', 'name')).stdout).toBe('broken\nfirst\n');
      await vmcp('stop', 'broken');
      const { stdout, stderr: others } = await vmcp('list');
      expect(stdout).toMatch(/^NAME.*\nfirst [^\n]*\n$/);
      expect(others).toMatch(/^1 more does not run: .*list --all\n$/);
      expect((await vmcp('list', '-o', 'name')).stderr).toBe('');
    },
    MINUTES,
  );
});
