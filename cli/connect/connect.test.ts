import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { Readable } from 'node:stream';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { runCommand } from '#cli/program';
import { CLIENTS } from '#management/clients/files/clients';
import { entryIn } from '#management/clients/files/edit-config';

const URL = 'http://127.0.0.1:4483/mcp';
let home: string;
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'vmcp-home-'));
});
afterEach(() => rmSync(home, { recursive: true, force: true }));

async function vmcp(...args: string[]): Promise<{ code: number; out: string; err: string }> {
  const said = { out: '', err: '' };
  const stream = (which: 'out' | 'err') => ({ write: (text: string) => (said[which] += text) });
  const deps = {
    input: Readable.from([]),
    out: stream('out'),
    err: stream('err'),
    environment: { HOME: home },
    program: 'npx vmcp',
    self: [],
    runtime: [],
    version: '0',
    containerEngine: undefined,
  };
  const all = ['connect', ...args, '--state', join(home, 'state')];
  return { code: await runCommand(all, deps, new AbortController().signal), ...said };
}

const fileOf = (id: string) =>
  CLIENTS.find((client) => client.id === id)!.file({
    platform: process.platform,
    path: home,
    environment: { HOME: home },
  });

function have(id: string, text: string): string {
  const file = fileOf(id);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
  return file;
}

describe('vmcp connect', () => {
  it('lists the clients, and reports for each whether it has the endpoint', async () => {
    have('cursor', `{"mcpServers": {"vmcp": {"url": "${URL}"}}}`);
    have('zed', '{"theme": "x"}');
    have('gemini', '{"mcpServers": {"vmcp": {"httpUrl": "http://old/mcp"}}}');
    have('codex', 'broken = [');
    const { code, out } = await vmcp('--url', URL, '-o', 'json');
    const states = Object.fromEntries(
      (JSON.parse(out) as { client: string; state: string }[]).map(({ client, state }) => [client, state]),
    );
    expect(code).toBe(0);
    expect(states).toMatchObject({
      cursor: 'connected',
      zed: 'without vmcp',
      gemini: 'vmcp is http://old/mcp',
      codex: expect.stringContaining('cannot be read'),
      goose: 'no configuration yet',
    });
    expect((await vmcp()).out).toContain('Claude Code');
    expect((await vmcp('-o', 'name')).out).toBe(CLIENTS.map(({ id }) => `${id}\n`).join(''));
    expect(await vmcp('cursor', '--url', URL, '-o', 'name')).toMatchObject({ code: 2, out: '' });
  });

  it.each(CLIENTS.map(({ id }) => id))('prints the entry for %s, and writes nothing', async (id) => {
    const { code, out, err } = await vmcp(id, '--url', URL);
    expect([code, out.includes(URL), err.includes(fileOf(id))]).toEqual([0, true, true]);
    expect(existsSync(fileOf(id))).toBe(false);
  });

  it.each(CLIENTS.map(({ id }) => id))('writes it into the configuration of %s, once', async (id) => {
    const { format, table, entry } = CLIENTS.find((client) => client.id === id)!;
    expect(await vmcp(id, '--url', URL, '--name', 'tools', '--write')).toMatchObject({ code: 0 });
    const text = readFileSync(fileOf(id), 'utf8');
    expect(entryIn(text, format, table, 'tools')).toEqual(entry('tools', URL));
    expect((await vmcp(id, '--url', URL, '--name', 'tools', '--write')).out).toContain('already');
    expect(readFileSync(fileOf(id), 'utf8')).toBe(text);
  });

  it('replaces another server of that name only on request', async () => {
    const file = have('cursor', '{"mcpServers": {"vmcp": {"command": "x"}, "b": {}}}');
    const refused = await vmcp('cursor', '--url', URL, '--write');
    expect([refused.code, refused.err]).toEqual([7, expect.stringContaining('--replace')]);
    expect(readFileSync(file, 'utf8')).toContain('"command"');
    expect(await vmcp('cursor', '--url', URL, '--write', '--replace')).toMatchObject({ code: 0 });
    expect(JSON.parse(readFileSync(file, 'utf8'))).toEqual({ mcpServers: { vmcp: { type: 'http', url: URL }, b: {} } });
    expect(readFileSync(`${file}.vmcp-backup`, 'utf8')).toContain('"command"');
  });

  it('changes no unreadable file, and prints the remedy', async () => {
    const file = have('claude-code', '{"a": 1,,}');
    const { code, err } = await vmcp('claude-code', '--url', URL, '--write');
    expect([code, err]).toEqual([5, expect.stringContaining('nothing was written')]);
    expect(readFileSync(file, 'utf8')).toBe('{"a": 1,,}');
  });

  it('rejects unknown clients and a missing endpoint', async () => {
    expect(await vmcp('emacs', '--url', URL)).toMatchObject({ code: 2, err: expect.stringContaining('claude-code') });
    expect(await vmcp('cursor')).toMatchObject({ code: 3, err: expect.stringContaining("npx vmcp up '<folder") });
  });

  it('prints the command as the user has to type it', async () => {
    const { err } = await vmcp('cursor', '--url', URL, '--name', "bob's");
    const command = `npx vmcp connect cursor --name '${String.raw`bob'\''s`}' --url ${URL} --state ${join(home, 'state')}`;
    expect(err).toContain(`(${command} --write does it)`);
    expect((await vmcp('--url', URL)).err).toContain('npx vmcp connect <client> --state ');
  });
});
