import { existsSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { makeHome, type OwnHome } from '../testdata/own-home.ts';

let home: OwnHome;
beforeEach(() => {
  home = makeHome();
});
afterEach(() => home.close());

const run = (...args: string[]) => home.vmcp(['run', ...args]);

/** Returns the files that a refused command leaves. */
const left = () => [...readdirSync(home.folder), ...(existsSync(home.state) ? readdirSync(home.state) : [])];

describe('vmcp run with an invalid request', () => {
  it.each([
    [6, 'no entry of this name', ['no-such-entry'], 'npx://no-such-entry'],
    [2, 'no package', ['npx://../evil'], 'is no package'],
    [2, 'a secret in the command line', ['npx://cups', '--secret', 'TOKEN=hunter2'], 'seen by every user'],
    [2, 'a value without a name', ['npx://cups', '--env', 'hunter2'], '--env'],
    [
      2,
      'a secret among plain values',
      ['brave-search', '--env', 'BRAVE_API_KEY=hunter2'],
      '--secret BRAVE_API_KEY=@file',
    ],
    [2, 'values that are missing', ['grafana'], 'GRAFANA_SERVICE_ACCOUNT_TOKEN: --secret'],
    [2, 'a password in a URL', ['https://a:hunter2@mcp.example.com/mcp'], '--header-secret'],
    [6, 'a stored secret that is not there', ['npx://cups', '--secret', 'TOKEN=key:nowhere'], 'no stored secret'],
    [1, 'a name that is none', ['npx://cups', '--name', 'Not A Name'], 'name'],
    [2, 'a port that is none', ['npx://cups', '--port', '70000'], '1 to 65535'],
  ])('exits with %d for %s, prints the remedy, and leaves nothing behind', async (code, _, args, said) => {
    const { code: ended, out, err } = await run(...args);
    expect([ended, out, err]).toEqual([code, '', expect.stringContaining(said)]);
    expect(out + err).not.toContain('hunter2');
    expect(left()).toEqual([]);
  });

  it('uses the given name, also for a source without a usable one', async () => {
    const server = 'apiVersion: vmcp.dev/v1alpha1\nkind: MCPServer\nmetadata: {name: cups}\nspec: {command: [cups]}\n';
    writeFileSync(join(home.folder, 'cups.yaml'), server);
    expect(await run('http://127.0.0.1:1/mcp')).toMatchObject({ code: 2, err: expect.stringContaining('--name') });
    const taken = await run('http://127.0.0.1:1/mcp', '--name', 'cups');
    expect([taken.code, taken.err]).toEqual([7, expect.stringContaining('there is a workload cups already')]);
  });

  it('changes no existing workload and none of its secrets', async () => {
    const server = 'apiVersion: vmcp.dev/v1alpha1\nkind: MCPServer\nmetadata: {name: cups}\nspec: {command: [cups]}\n';
    writeFileSync(join(home.folder, 'cups.yaml'), server);
    writeFileSync(join(home.path, 'token'), 'x');
    const taken = await run('npx://cups', '--secret', `TOKEN=@${join(home.path, 'token')}`);
    expect([taken.code, taken.err]).toEqual([7, expect.stringMatching(/--name.*vmcp rm cups/)]);
    expect((await home.vmcp(['secret', 'list', '-o', 'name'])).out).toBe('');
  });

  it('stores no secret of a refused workload', async () => {
    writeFileSync(join(home.path, 'token'), 'x');
    const secret = ['--secret', `TOKEN=@${join(home.path, 'token')}`];
    const { code } = await run('npx://cups', ...secret, '--', 'x'.repeat(1_000_000));
    expect([code, (await home.withoutFolder(['secret', 'list', '-o', 'name'])).out]).toEqual([1, '']);
  });

  it('rejects a registry entry whose URL has placeholders', async () => {
    const file = join(home.path, 'servers.json');
    writeFileSync(file, JSON.stringify({ remote_servers: { useful: { url: 'https://{team}.example/mcp' } } }));
    expect((await home.vmcp(['registry', 'set', file])).code).toBe(0);
    const { code, err } = await run('useful');
    expect([code, err]).toEqual([2, expect.stringContaining('run vmcp run with the whole of https://{team}.example')]);
    expect(readdirSync(home.folder)).toEqual([]);
  });

  it.each([
    '--privileged',
    '--volume=/:/host',
    'npx://--yes',
    'npx://../evil',
    'uvx://evil --index-url https://evil.example',
    'dir:/etc',
    'docker-archive:/tmp/evil.tar',
    'ghcr.io/example/useful:1 sh',
  ])('rejects a registry image that an engine or runner would parse differently: %s', async (image) => {
    const file = join(home.path, 'servers.json');
    writeFileSync(file, JSON.stringify({ servers: { useful: { image } } }));
    expect((await home.vmcp(['registry', 'set', file])).code).toBe(0);
    const { code, err } = await run('useful');
    expect([code, err]).toEqual([5, expect.stringMatching(/none that an engine or a package runner may be given/)]);
    expect(readdirSync(home.folder)).toEqual([]);
  });

  it('sends no environment variable to a remote server for a header of an entry', async () => {
    const file = join(home.path, 'servers.json');
    const headers = [{ name: 'GITHUB_TOKEN', required: true }];
    writeFileSync(file, JSON.stringify({ remote_servers: { useful: { url: 'https://evil.example/mcp', headers } } }));
    expect((await home.vmcp(['registry', 'set', file])).code).toBe(0);
    const { code, err } = await home.vmcp(['run', 'useful'], '', { GITHUB_TOKEN: 'hunter2' });
    expect([code, err]).toEqual([2, expect.stringContaining('GITHUB_TOKEN: --header GITHUB_TOKEN=VALUE')]);
    expect(readdirSync(home.folder)).toEqual([]);
  });

  it('asks for the group if there are several', async () => {
    const group = (name: string) =>
      `apiVersion: vmcp.dev/v1alpha1\nkind: MCPGroup\nmetadata: {name: ${name}}\nspec: {}\n`;
    writeFileSync(join(home.folder, 'groups.yaml'), `${group('a')}---\n${group('b')}`);
    expect(await run('npx://cups')).toMatchObject({ code: 2, err: expect.stringContaining('--group (a, b)') });
  });
});

describe('vmcp run', () => {
  it('creates a group with its own endpoint for the first server', async () => {
    const group = 'apiVersion: vmcp.dev/v1alpha1\nkind: MCPGroup\nmetadata: {name: a}\nspec: {}\n';
    writeFileSync(join(home.folder, 'groups.yaml'), group);
    // The test cannot start the server, so it checks the earlier output.
    const { err } = await run('npx://cups', '--group', 'docs');
    expect(err).toMatch(/group docs is new, and gets an endpoint: .*virtualmcpserver-docs\.yaml/);
    expect(readdirSync(home.folder)).toContain('virtualmcpserver-docs.yaml');
    expect((await run('npx://plates', '--group', 'docs')).err).not.toContain('is new');
  });
});
