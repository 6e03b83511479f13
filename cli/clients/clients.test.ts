import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { tellClient } from './add-clients.ts';
import { makeHome, type OwnHome } from '../testdata/own-home.ts';

let home: OwnHome;
beforeEach(() => {
  home = makeHome();
  const group = 'apiVersion: vmcp.dev/v1alpha1\nkind: MCPGroup\nmetadata: {name: dev}\nspec: {}\n';
  writeFileSync(join(home.folder, 'group.yaml'), group);
});
afterEach(() => home.close());

const vmcp = (...args: string[]) => home.vmcp(['client', ...args]);

describe('vmcp client register in a cluster', () => {
  it.each([
    ['http://vmcp-staff.team-a.svc:4483/mcp', /^Add this .*\nonly pods of the cluster reach http:.*resourceUrl\n$/],
    ['https://mcp.example.com/mcp', /^Add this [^\n]*\n$/],
  ])('prints the entry to add, and marks a URL that only pods reach: %s', (url, told) => {
    const said = { out: '', err: '' };
    const stream = (which: 'out' | 'err') => ({ write: (text: string) => (said[which] += text) });
    const configuration = {
      written: false,
      format: 'json' as const,
      servers: { staff: url },
      text: url,
      after: 'log in',
    };
    tellClient({ name: 'cursor', groups: [], configuration }, { out: stream('out'), err: stream('err') });
    expect([said.out, said.err]).toEqual([`${url}\n`, expect.stringMatching(told)]);
  });
});

describe('vmcp client', () => {
  it('registers clients with groups while no server runs, lists and deletes them', async () => {
    const { code, err } = await vmcp('register', 'cursor', 'codex', '--group', 'dev');
    expect([code, err]).toEqual([0, expect.stringContaining('gets its endpoints when they are served')]);
    expect((await vmcp('list', '-o', 'name')).out).toBe('codex\ncursor\n');
    expect(JSON.parse((await vmcp('list', '-o', 'json')).out)).toEqual([
      { name: 'codex', groups: ['dev'] },
      { name: 'cursor', groups: ['dev'] },
    ]);
    expect((await vmcp('rm', 'codex')).err).toContain('codex is not registered any more');
    expect((await vmcp('list')).out).toMatch(/^CLIENT +GROUPS\ncursor +dev\n$/);
  });

  it('removes the registered clients even if another one is unknown, and exits with the code for that one', async () => {
    await vmcp('register', 'cursor', 'codex');
    expect(await vmcp('rm', 'cursor', 'zed', 'codex', 'codex')).toMatchObject({
      code: 6,
      err: expect.stringContaining('"zed"'),
    });
    expect((await vmcp('list', '-o', 'name')).out).toBe('');
  });

  it('exits with the matching code and lists the known names', async () => {
    expect(await vmcp('register', 'emacs')).toMatchObject({ code: 2, err: expect.stringContaining('claude-code') });
    expect(await vmcp('register', 'zed', '-g', 'no')).toMatchObject({ code: 1, err: expect.stringContaining('dev') });
    expect(await vmcp('rm', 'zed')).toMatchObject({ code: 6 });
    expect(await vmcp('register')).toMatchObject({ code: 2 });
    expect(await vmcp('list')).toMatchObject({
      code: 0,
      out: '',
      err: expect.stringContaining(`vmcp client register <client> --state ${home.state} registers one`),
    });
  });

  it('does not change the file of a client without an endpoint', async () => {
    const file = join(home.path, '.cursor', 'mcp.json');
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, '{');
    const { code, err } = await vmcp('register', 'cursor');
    expect([code, readFileSync(file, 'utf8')]).toEqual([0, '{']);
    expect(err).toContain('gets its endpoints');
  });
});
