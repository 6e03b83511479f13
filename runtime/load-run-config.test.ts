import { createHash } from 'node:crypto';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { z } from 'zod';
import { RunConfig } from '#crds/run-config/run-config';
import { ConfigError } from '#runtime/errors';
import { listFiles } from './list-files.ts';
import { loadRunConfig } from './load-run-config.ts';
import { createSecretFiles } from './secret-files.ts';

const ignore = () => undefined;
const silent = { debug: ignore, info: ignore, warn: ignore, error: ignore };
const BEGIN = `schema_version: v0.1.0
server: { namespace: default, name: demo, uid: u1 }
incoming: { type: anonymous }
`;

let folder: string;
let file: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'run-config-'));
  file = join(folder, 'run-config.yaml');
});
afterEach(() => rm(folder, { recursive: true }));

async function load(text: string) {
  await writeFile(file, text);
  return loadRunConfig(file, createSecretFiles({ folder, log: silent }).read);
}
const refusal = (text: string) =>
  load(text).then(
    () => 'accepted',
    (error: unknown) =>
      error instanceof ConfigError ? error.message.replaceAll(folder, '') : `not a ConfigError: ${String(error)}`,
  );

describe('loadRunConfig', () => {
  it('reads YAML, fills defaults, and returns the digest of the bytes and the named files', async () => {
    await writeFile(join(folder, 'key'), 'v');
    const text = `${BEGIN}backends:
  - { name: a, transport: streamable-http, url: "http://127.0.0.1:1/mcp", auth: { type: bearer_token, token_file: key } }
`;
    const { config, digest, files } = await load(text);
    expect(config.operational.timeouts.default).toBe(60_000);
    expect(digest).toBe(createHash('sha256').update(text).digest('hex'));
    expect(files).toEqual([{ file: 'key', path: ['backends', 0, 'auth', 'token_file'] }]);
  });

  it('reads a compressed document, refuses a truncated one, and returns the digest of the file', async () => {
    const packed = gzipSync(`${BEGIN}backends: []\n`);
    await writeFile(file, packed);
    const { read } = createSecretFiles({ folder, log: silent });
    const { config, digest } = await loadRunConfig(file, read);
    expect(config.server.name).toBe('demo');
    expect(digest).toBe(createHash('sha256').update(packed).digest('hex'));
    await writeFile(file, packed.subarray(0, 20));
    await expect(loadRunConfig(file, read)).rejects.toThrow('it cannot be unpacked');
  });

  it('reads JSON', async () => {
    const document = {
      schema_version: 'v0.1.0',
      server: { namespace: 'n', name: 'd', uid: 'u' },
      incoming: { type: 'anonymous' },
      backends: [],
    };
    expect((await load(JSON.stringify(document))).config.server.name).toBe('d');
  });

  it.each([
    ['an unreadable document', 'a: [1\nb: 2', /^\/run-config.yaml:2 /],
    ['a repeated key', `${BEGIN}backends: []\nbackends: []\n`, /^\/run-config.yaml:5 .*unique/],
    ['two documents', `${BEGIN}backends: []\n---\na: 1\n`, /^\/run-config.yaml:\d .*multiple documents/],
    [
      'an empty document',
      '',
      /^\/run-config.yaml:1 schema_version: required field is missing; write schema_version: v0.1.0/,
    ],
    ['a list', '- 1', /^\/run-config.yaml:1 schema_version: /],
    [
      'an unknown schema_version',
      BEGIN.replace('v0.1.0', 'v9'),
      /^\/run-config.yaml:1 schema_version: "v9" is not known; this runtime reads v0.1.0$/,
    ],
    [
      'an unknown key',
      `${BEGIN}backends: []\nlimits:\n  session_idel: 5m\n`,
      /^\/run-config.yaml:6 limits.session_idel: unknown field.*session_idle/,
    ],
    ['a wrong type', `${BEGIN}backends: 5\n`, /^\/run-config.yaml:4 backends: .*list/],
    [
      'a missing member',
      `${BEGIN}backends:\n  - name: a\n    transport: stdio\n`,
      /^\/run-config.yaml:5 backends\[0\].command: required/,
    ],
    [
      'a missing file, by name and line',
      `${BEGIN}backends: []\nsealing_secret_files:\n  - secrets/none\n`,
      /^\/run-config.yaml:6 sealing_secret_files\[0\]: secrets\/none: there is no such file$/,
    ],
    [
      'a folder in place of a file',
      `${BEGIN}backends: []\nstatus_token_file: .\n`,
      /status_token_file: \.: it is no regular file$/,
    ],
  ])('refuses %s', async (_case, text, message) => {
    expect(await refusal(text)).toMatch(message);
  });

  it('accepts a document with a backend whose file is missing', async () => {
    const text = `${BEGIN}backends:\n  - name: a\n    transport: stdio\n    command: x\n    env_files:\n      TOKEN: none\n`;
    expect(await refusal(text)).toBe('accepted');
  });

  it('reports every problem, not only the first', async () => {
    const text = `${BEGIN}backends: []\nsealing_secret_files: [one, two]\nstatus_token_file: three\n`;
    expect((await refusal(text)).split('\n')).toHaveLength(3);
  });

  it('refuses aliases with exponential growth', async () => {
    const bomb = [
      'a: &a [x,x,x,x,x,x,x,x,x,x]',
      ...'bcdefgh'.split('').map(
        (name, index) =>
          `${name}: &${name} [${Array(10)
            .fill(`*${'abcdefg'[index] ?? ''}`)
            .join(',')}]`,
      ),
    ];
    expect(await refusal(bomb.join('\n'))).toMatch(/aliases/);
  });

  it('reports a missing document', async () => {
    await expect(loadRunConfig(join(folder, 'none.yaml'), ignore)).rejects.toThrow(/none\.yaml: there is no such file/);
  });
});

describe('listFiles', () => {
  it('returns file members, file lists and file maps, and no user-defined keys', () => {
    const named = listFiles({
      status_token_file: 'a',
      sealing_secret_files: ['b', 'c'],
      backends: [
        { env: { config_file: 'no' }, env_files: { X: 'd' }, tools_override: { read_files: { name: 'no' } } },
        { header_forward: { add_plaintext_headers: { x_file: 'no' }, add_header_files: { authorization: 'e' } } },
      ],
      audit_config: { logFile: 'no' },
      session_storage: { type: 'sqlite', file: 'no' },
    });
    expect(named.map(({ file }) => file)).toEqual(['a', 'b', 'c', 'd', 'e']);
    expect(named[4]?.path).toEqual(['backends', 1, 'header_forward', 'add_header_files', 'authorization']);
  });

  it('finds files by the suffix of their member in the whole schema', () => {
    const members =
      JSON.stringify(z.toJSONSchema(RunConfig, { io: 'input', unrepresentable: 'any' })).match(/"\w*file\w*":\{/gi) ??
      [];
    const other = new Set(members.filter((member) => !/_files?":\{$/.test(member)));
    expect([...other]).toEqual(['"file":{', '"logFile":{']);
  });

  it('ignores files under user-defined keys', () => {
    const maps = mapsIn(z.toJSONSchema(RunConfig, { io: 'input', unrepresentable: 'any' }));
    expect(maps).toEqual(expect.arrayContaining(['env', 'overrides', 'tools_override']));
    for (const field of maps) {
      expect([field, listFiles({ [field]: { key_file: 'no', list_files: { name: 'no' } } })]).toEqual([field, []]);
    }
  });
});

/** Returns the fields of maps with user-defined keys, except those of files. */
function mapsIn(schema: unknown, field = ''): string[] {
  if (typeof schema !== 'object' || schema === null) return [];
  const { properties = {}, ...others } = schema as { properties?: object; propertyNames?: unknown };
  const isMap = others.propertyNames !== undefined && !field.endsWith('_files') && !/^[0-9]*$/.test(field);
  return [
    ...(isMap ? [field] : []),
    ...Object.entries(properties).flatMap(([name, inner]) => mapsIn(inner, name)),
    ...Object.values(others).flatMap((inner) => mapsIn(inner)),
  ];
}

describe('SecretFiles', () => {
  it('returns the content without trailing line breaks and keeps it until a refresh', async () => {
    await writeFile(join(folder, 's'), 'one\r\n\n');
    const files = createSecretFiles({ folder, log: silent });
    expect(files.read('s')).toBe('one');
    await writeFile(join(folder, 's'), 'two');
    expect(files.read('s')).toBe('one');
    expect(files.refresh(['s'])).toEqual(['s']);
    expect(files.read('s')).toBe('two');
    expect(files.refresh(['s'])).toEqual([]);
  });

  it('keeps the content of a deleted file', async () => {
    await writeFile(join(folder, 's'), 'one');
    const files = createSecretFiles({ folder, log: silent });
    files.read('s');
    await rm(join(folder, 's'));
    expect(files.refresh(['s'])).toEqual([]);
    expect(files.read('s')).toBe('one');
  });

  it('returns keyed fingerprints of the bytes, only of cached files', async () => {
    await writeFile(join(folder, 's'), 'one\n');
    await writeFile(join(folder, 't'), 'one');
    const files = createSecretFiles({ folder, log: silent });
    files.read('s');
    files.read('t');
    const { s, t } = files.fingerprints('k');
    expect(s).toMatch(/^[0-9a-f]{64}$/);
    expect(s).not.toBe(t);
    expect(files.fingerprints('other').s).not.toBe(s);
    files.keep(['t']);
    expect(Object.keys(files.fingerprints('k'))).toEqual(['t']);
  });

  it('refuses a file that is too large, naming the file but not its content', async () => {
    await writeFile(join(folder, 'big'), 'x'.repeat(2_000_000));
    await mkdir(join(folder, 'dir'));
    const { read } = createSecretFiles({ folder, log: silent });
    expect(() => read('big')).toThrow(/^big: it is larger/);
    expect(() => read('dir')).toThrow(/^dir: it is no regular file/);
    expect((await readFile(join(folder, 'big'))).length).toBe(2_000_000);
  });
});
