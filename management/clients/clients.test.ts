import { execFile } from 'node:child_process';
import { chmodSync, chownSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { CLIENTS, type Format } from '#management/clients/files/clients';
import { EDITORS } from '#management/clients/files/edit-config';
import { type ClientsFixture, openClientsFixture, PROD, TOOLS } from './testdata/clients-fixture.ts';

const IDS = CLIENTS.map(({ id }) => id);

/** Sample files in the style of users and clients; TABLE stands for the table of the client. */
const JSON_FILES = [
  '{"TABLE": {}}',
  '{}',
  '{"a":1,"TABLE":{"b":{"command":"x"}}}',
  '{\n\t"TABLE": {\n\t}\n}\n',
  '{"TABLE":null}\n',
];
const WRITTEN: Record<Format, readonly string[]> = {
  json: JSON_FILES,
  jsonc: [...JSON_FILES, '// mine\n{\n  "TABLE": {}, // none yet\n}\n', '{\r\n  "a": [1,], /* b */ "TABLE": {},\r\n}'],
  toml: [
    '[TABLE]\n',
    'TABLE = {}\n',
    '[TABLE]\n# none yet\n\n[a]\nb = 1 # c',
    '[TABLE.b]\ncommand = "x"',
    'TABLE = { b = { command = "x" } } # d\r\n',
  ],
  yaml: [
    'TABLE: {}\n',
    'TABLE:\n',
    '# mine\nTABLE:\n  a: {command: x} # b',
    'TABLE: {a: {b: 017}}\nc: ~\n',
    '{TABLE: {}, a: 1}\n',
  ],
};
let fixture: ClientsFixture;
beforeEach(() => {
  fixture = openClientsFixture();
});
afterEach(() => fixture.remove());

/** Maps the name of each entry in a client's file to its URL. */
function urlsIn(id: string, text = fixture.read(id) ?? ''): Record<string, unknown> {
  const { format, table, url } = CLIENTS.find((client) => client.id === id)!;
  const entries = (EDITORS[format].read(text)[table] ?? {}) as Record<string, Record<string, unknown>>;
  return Object.fromEntries(Object.entries(entries).map(([name, entry]) => [name, entry[url]]));
}

describe('Clients', () => {
  it.each(IDS)('registers a client with the endpoints of its groups and removes them on delete: %s', async (id) => {
    const [registered] = await fixture.clients.register([id], ['dev'], false);
    expect(registered).toMatchObject({
      name: id,
      groups: ['dev'],
      configuration: { file: fixture.fileOf(id), written: true, servers: { tools: TOOLS } },
    });
    expect(urlsIn(id)).toEqual({ tools: TOOLS });
    expect(urlsIn(id, registered?.configuration.text)).toEqual({ tools: TOOLS });
    await fixture.clients.delete(id);
    expect([urlsIn(id), await fixture.clients.list()]).toEqual([{}, []]);
  });

  it('changes nothing else in the file, keeps comments and writes a backup', async () => {
    const before =
      '// mine\n{\n  "theme": "dark", // at night\n  "context_servers": {\n    "a": {\n      "command": "x"\n    }\n  }\n}\n';
    fixture.write('zed', before);
    const [registered] = await fixture.clients.register(['zed'], ['dev', 'ops'], false);
    expect(urlsIn('zed')).toEqual({ a: undefined, tools: TOOLS, prod: PROD });
    expect(fixture.read('zed')).toContain('// at night');
    expect(readFileSync(registered?.configuration.backup ?? '', 'utf8')).toBe(before);
    await fixture.clients.delete('zed');
    expect(fixture.read('zed')).toBe(before);
  });

  it.each(CLIENTS.map(({ id, format, table }) => [id, format, table] as const))(
    'restores the file byte for byte on delete: %s',
    async (id, format, table) => {
      for (const before of WRITTEN[format].map((text) => text.replaceAll('TABLE', table))) {
        fixture.write(id, before);
        await fixture.clients.register([id], ['dev', 'ops'], false);
        expect(urlsIn(id)).toMatchObject({ tools: TOOLS, prod: PROD });
        await fixture.clients.delete(id);
        expect(fixture.read(id)).toBe(before);
      }
    },
  );

  it('keeps later edits of the file on delete', async () => {
    const before = '{ "context_servers": {} }\n';
    fixture.write('zed', before);
    await fixture.clients.register(['zed'], ['dev'], false);
    fixture.write('zed', `${fixture.read('zed')}// mine\n`);
    await fixture.clients.delete('zed');
    expect([urlsIn('zed'), fixture.read('zed')]).toEqual([{}, expect.stringMatching(/\n\/\/ mine\n$/)]);
    // The old backup must not bring back entries of vmcp.
    await fixture.clients.register(['zed'], ['dev'], false);
    await fixture.clients.register(['zed'], ['ops'], false);
    await fixture.clients.delete('zed');
    expect([urlsIn('zed'), fixture.read('zed')]).toEqual([{}, expect.stringMatching(/\n\/\/ mine\n$/)]);
  });

  it('records a client even if the last write of its record fails', async () => {
    fixture.failOnce();
    await expect(fixture.clients.register(['cursor'], ['dev'], false)).rejects.toThrow('no space left');
    expect(urlsIn('cursor')).toEqual({ tools: TOOLS });
    expect(await fixture.clients.list()).toEqual([{ name: 'cursor', groups: ['dev'] }]);
    await fixture.clients.delete('cursor');
    expect(urlsIn('cursor')).toEqual({});
  });

  it('writes the endpoints of all groups if none is named', async () => {
    await fixture.clients.register(['cursor'], [], false);
    expect(urlsIn('cursor')).toEqual({ tools: TOOLS, prod: PROD });
  });

  it('replaces the groups of a registered client', async () => {
    await fixture.clients.register(['codex'], ['dev'], false);
    await fixture.clients.register(['codex'], ['ops'], false);
    expect(urlsIn('codex')).toEqual({ prod: PROD });
    expect(await fixture.clients.list()).toEqual([{ name: 'codex', groups: ['ops'] }]);
    const text = fixture.read('codex');
    await fixture.clients.register(['codex'], ['ops'], false);
    expect(fixture.read('codex')).toBe(text);
  });

  it('writes no file without an endpoint, and Clients.update adds the endpoint later', async () => {
    fixture.serve('tools', 'dev', undefined);
    const [registered] = await fixture.clients.register(['cursor'], ['dev'], false);
    expect(registered?.configuration).toMatchObject({ written: false, servers: {}, text: '' });
    expect(fixture.read('cursor')).toBeUndefined();
    fixture.serve('tools', 'dev', TOOLS);
    expect(await fixture.clients.update()).toEqual(new Map());
    expect(urlsIn('cursor')).toEqual({ tools: TOOLS });
  });

  it('returns text and writes no file in a cluster', async () => {
    const [registered] = await fixture.inCluster.register(['goose'], ['ops'], false);
    expect(registered?.configuration).toMatchObject({ written: false, servers: { prod: PROD } });
    expect(registered?.configuration.file).toBeUndefined();
    expect(urlsIn('goose', registered?.configuration.text)).toEqual({ prod: PROD });
    await fixture.inCluster.delete('goose');
    expect(readdirSync(fixture.folder)).toEqual(['records']);
  });

  it('rejects unknown clients and groups with a list of the known ones', async () => {
    await expect(fixture.clients.register(['emacs'], [], false)).rejects.toMatchObject({
      code: 'bad_request',
      message: expect.stringContaining('claude-code, cursor'),
    });
    await expect(fixture.clients.register(['cursor'], ['dev', 'nobody'], false)).rejects.toMatchObject({
      code: 'bad_request',
      message: expect.stringContaining('no group "nobody" (there is: dev, ops, empty)'),
    });
    expect(readdirSync(fixture.folder)).toEqual([]);
  });

  it('rejects the delete of an unregistered client', async () => {
    for (const name of ['cursor', '../../etc/passwd'])
      await expect(fixture.clients.delete(name)).rejects.toMatchObject({ code: 'not_found' });
  });
});

describe('the files of clients', () => {
  it('follow changed, new and deleted endpoints', async () => {
    await fixture.clients.register(['cursor'], ['dev'], false);
    fixture.serve('tools', 'dev', 'http://127.0.0.1:4493/mcp');
    fixture.serve('second', 'dev', 'http://127.0.0.1:4503/mcp');
    expect(await fixture.clients.update()).toEqual(new Map());
    expect(urlsIn('cursor')).toEqual({ tools: 'http://127.0.0.1:4493/mcp', second: 'http://127.0.0.1:4503/mcp' });
    fixture.stopServing('second');
    fixture.serve('tools', 'dev', undefined);
    await fixture.clients.update();
    expect(urlsIn('cursor')).toEqual({ tools: 'http://127.0.0.1:4493/mcp' });
  });

  it('stay unchanged while the endpoints do, even after a user removed an entry', async () => {
    await fixture.clients.register(['cursor'], ['dev'], false);
    fixture.write('cursor', '{}');
    await fixture.clients.update();
    expect(fixture.read('cursor')).toBe('{}');
  });

  it('keep entries of other programs, which are neither overwritten nor removed', async () => {
    const theirs = '{"mcpServers": {"tools": {"command": "x"}}}';
    fixture.write('cursor', theirs);
    await expect(fixture.clients.register(['cursor'], ['dev'], false)).rejects.toMatchObject({
      code: 'conflict',
      message: expect.stringContaining('force=true'),
    });
    expect([fixture.read('cursor'), await fixture.clients.list()]).toEqual([theirs, []]);
    await fixture.clients.register(['cursor'], ['dev'], true);
    expect(urlsIn('cursor')).toEqual({ tools: TOOLS });
    fixture.write('cursor', '{"mcpServers": {"tools": {"url": "http://mine"}}}');
    await fixture.clients.delete('cursor');
    expect(urlsIn('cursor')).toEqual({ tools: 'http://mine' });
  });

  it('pass a check of all files before the first one changes', async () => {
    fixture.write('gemini', '{"mcpServers": ');
    await expect(fixture.clients.register(['cursor', 'gemini'], ['dev'], false)).rejects.toMatchObject({
      code: 'conflict',
      message: expect.stringContaining(fixture.fileOf('gemini')),
    });
    expect([fixture.read('cursor'), await fixture.clients.list()]).toEqual([undefined, []]);
  });

  it('change independently: a failure names its client, and the others are updated', async () => {
    await fixture.clients.register(['cursor', 'codex'], ['dev'], false);
    fixture.write('cursor', '{');
    fixture.serve('tools', 'dev', PROD);
    const problems = await fixture.clients.update();
    expect([...problems.keys()]).toEqual(['cursor']);
    expect(urlsIn('codex')).toEqual({ tools: PROD });
    fixture.write('cursor', '{}');
    expect(await fixture.clients.update()).toEqual(new Map());
    expect(urlsIn('cursor')).toEqual({ tools: PROD });
  });

  it.each([
    ['a link to nothing', (file: string) => symlinkSync(join(fixture.folder, 'nothing'), file)],
    ['a device', (file: string) => symlinkSync('/dev/zero', file)],
    ['a folder', (file: string) => mkdirSync(file)],
  ])('prevent a registration if one is %s', async (_, make) => {
    const file = fixture.fileOf('cursor');
    mkdirSync(dirname(file), { recursive: true });
    make(file);
    await expect(fixture.clients.register(['cursor'], ['dev'], false)).rejects.toMatchObject({
      code: 'conflict',
      message: expect.stringContaining(file),
    });
    expect(await fixture.clients.list()).toEqual([]);
  });

  it('prevent a registration if the home folder is a file', async () => {
    writeFileSync(join(fixture.folder, 'home'), 'a file');
    await expect(fixture.clients.register(['cursor'], ['dev'], false)).rejects.toMatchObject({ code: 'internal' });
    expect(await fixture.clients.list()).toEqual([]);
  });

  it('keep their content if the folder is not writable', async () => {
    const before = '{"mcpServers": {}}';
    fixture.write('cursor', before);
    chmodSync(dirname(fixture.fileOf('cursor')), 0o500);
    const told = await registerAsNobody(fixture.folder);
    expect(told).toMatch(/^internal: .*may not be read or written by this user: change its owner or mode/);
    expect([fixture.read('cursor'), readdirSync(dirname(fixture.fileOf('cursor')))]).toEqual([before, ['mcp.json']]);
    chmodSync(dirname(fixture.fileOf('cursor')), 0o700);
  });
});

/** Registers cursor as a user without root rights, because root can write everywhere. Returns the printed error. */
async function registerAsNobody(folder: string): Promise<string> {
  const program = `
    import { Clients } from ${JSON.stringify(join(import.meta.dirname, 'clients.ts'))};
    const server = { name: 'tools', spec: { config: { groupRef: 'dev' } }, status: { url: ${JSON.stringify(TOOLS)} } };
    const home = { platform: 'linux', path: ${JSON.stringify(join(folder, 'home'))}, environment: {} };
    const kept = new Map();
    const records = {
      get: async (name) => kept.get(name),
      create: async (name, value) => void kept.set(name, { name, value, version: '1' }),
      delete: async (name) => kept.delete(name),
    };
    const clients = new Clients({ records, resources: { list: async () => [server] }, home });
    const told = await clients.register(['cursor'], [], false).catch((problem) => problem.code + ': ' + problem.message);
    console.log(told, kept.size);`;
  const nobody = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : undefined;
  if (nobody) {
    const entries = readdirSync(folder, { recursive: true, encoding: 'utf8' });
    for (const entry of ['', ...entries]) chownSync(join(folder, entry), nobody.uid, nobody.gid);
  }
  const args = ['--input-type=module', '--disable-warning=ExperimentalWarning', '-e', program];
  const options = { ...nobody, cwd: import.meta.dirname, encoding: 'utf8' as const, timeout: 20_000 };
  const { stdout } = await promisify(execFile)(process.execPath, args, options);
  expect(stdout).toMatch(/ 0\n$/);
  return stdout;
}
