import { describe, expect, it } from '@jest/globals';
import { UnreadableConfig } from './config-editor.ts';
import { dropEntry, EDITORS, entryIn, putEntry } from './edit-config.ts';

const URL = 'http://127.0.0.1:4483/mcp';

describe('putEntry', () => {
  it('adds to JSON with comments and trailing commas, and keeps these', () => {
    const before = `// mine
{
    "theme": "dark", // at night
    "context_servers": {
        /* files */
        "files": {
            "command": "x"
        },
    },
}
`;
    const after = putEntry(before, 'jsonc', 'context_servers', 'tools', { url: URL });
    const [head, tail] = before.split('\n    },\n}');
    expect(after).toBe(`${head}\n        "tools": {\n            "url": "${URL}"\n        },\n    },\n}${tail}`);
    expect(entryIn(after, 'jsonc', 'context_servers', 'tools')).toEqual({ url: URL });
  });

  it('appends a table to TOML without any other change', () => {
    const before = `# codex
model = "m" # the model

[mcp_servers.files]
command = "npx"
args = [
  "-y", # yes
]
`;
    const after = putEntry(before, 'toml', 'mcp_servers', 'my.tools', { url: URL });
    expect(after).toBe(`${before}\n[mcp_servers."my.tools"]\nurl = "${URL}"\n`);
  });

  it('adds to an inline table in TOML', () => {
    const after = putEntry('mcp_servers = { a = { command = "x" } } # all\n', 'toml', 'mcp_servers', 'b', { url: URL });
    expect(entryIn(after, 'toml', 'mcp_servers', 'a')).toEqual({ command: 'x' });
    expect(entryIn(after, 'toml', 'mcp_servers', 'b')).toEqual({ url: URL });
    expect(after).toContain('# all');
  });

  it('replaces an entry in TOML and keeps comments beside it', () => {
    const before = '[mcp_servers.a]\nurl = "http://old" # where\n\n[other]\nx = 1 # one\n';
    const after = putEntry(before, 'toml', 'mcp_servers', 'a', { url: URL });
    expect(entryIn(after, 'toml', 'mcp_servers', 'a')).toEqual({ url: URL });
    expect(after).toContain('x = 1 # one');
    expect(after).not.toContain('old');
  });

  it('adds to YAML and keeps comments', () => {
    const before = '# goose\nGOOSE_MODEL: m # model\nextensions:\n  dev: # built in\n    enabled: true\n';
    const after = putEntry(before, 'yaml', 'extensions', 'tools', { uri: URL });
    for (const comment of ['# goose', '# model', '# built in']) expect(after).toContain(comment);
    expect(entryIn(after, 'yaml', 'extensions', 'dev')).toEqual({ enabled: true });
    expect(entryIn(after, 'yaml', 'extensions', 'tools')).toEqual({ uri: URL });
  });

  it.each(['json', 'jsonc', 'toml', 'yaml'] as const)('adds to an empty file of %s', (format) => {
    expect(entryIn(putEntry('', format, 't', 'a', { url: URL }), format, 't', 'a')).toEqual({ url: URL });
  });

  it.each([
    ['json', '{"t": null, "a": 1}'],
    ['yaml', 't:\na: 1\n'],
  ] as const)('adds to an empty table in %s', (format, before) => {
    const after = putEntry(before, format, 't', 'x', { url: URL });
    expect(EDITORS[format].read(after)).toEqual({ a: 1, t: { x: { url: URL } } });
  });

  it.each([
    ['{}', 't:\n  x:\n    url: y\n'],
    ['{} # mine', 't:  # mine\n  x:\n    url: y\n'],
    [
      '{a: {mode: 017, long: 12345678901234567890}}',
      't: { a: { mode: 017, long: 12345678901234567890 }, x: { url: y } }\n',
    ],
  ])('adds to the YAML table %s and keeps all other values', (table, after) => {
    expect(putEntry(`t: ${table}\n`, 'yaml', 't', 'x', { url: 'y' }).replace(': \n', ':\n')).toBe(after);
  });

  it('replaces an entry in YAML without a change of other lines', () => {
    const before = 't:\n    x:\n        url: old\n    a:   1 # mine\nlast: "x"\n';
    expect(putEntry(before, 'yaml', 't', 'x', { url: 'y' })).toBe(
      't:\n    x:\n      url: y\n    a:   1 # mine\nlast: "x"\n',
    );
  });

  it('adds to a file that contains only comments', () => {
    const after = putEntry('// mine', 'jsonc', 't', 'x', { url: URL });
    expect(after.startsWith('// mine\n{')).toBe(true);
    expect(entryIn(after, 'jsonc', 't', 'x')).toEqual({ url: URL });
  });

  it('keeps line endings and a byte order mark', () => {
    expect(putEntry('a = 1\r\n', 'toml', 't', 'x', { url: URL })).toBe(`a = 1\r\n\r\n[t.x]\r\nurl = "${URL}"\r\n`);
    const json = putEntry('\uFEFF{\r\n\t"a": 1\r\n}\r\n', 'json', 't', 'x', { url: URL });
    expect(json.startsWith('\uFEFF{\r\n\t"a": 1,\r\n\t"t": {')).toBe(true);
  });

  it.each([
    ['json', '{"a": 1,,}', /line 1/],
    ['json', '{\n// not here\n"a": 1}', /line 2/],
    ['json', '[]', /no table/],
    ['jsonc', '{"t": []}', /t is no table/],
    ['toml', 'a = [1,\n b', /TOML/],
    ['yaml', 'a: [1\nb: 2', /./],
    ['yaml', '- a\n', /no table/],
    ['yaml', 'a: &a {b: 1}\nt: *a\n', /cannot be changed safely/],
  ] as const)('rejects %s that it cannot edit: %s', (format, text, message) => {
    expect(() => putEntry(text, format, 't', 'x', { url: URL })).toThrow(UnreadableConfig);
    expect(() => putEntry(text, format, 't', 'x', { url: URL })).toThrow(message);
  });
});

describe('dropEntry', () => {
  const jsonc = `// mine
{
    "theme": "dark", // at night
    "context_servers": {
        /* files */
        "files": {
            "command": "x"
        }
    }
}
`;
  it.each([
    ['jsonc', jsonc],
    ['jsonc', '{\n  // all mine\n  "a": 1\n}\n'],
    ['json', '\uFEFF{\r\n\t"a": 1\r\n}\r\n'],
    ['toml', '# codex\nmodel = "m" # the model\n\n[context_servers.files]\ncommand = "npx"\n'],
    ['toml', 'a = 1\r\n'],
    ['yaml', '# goose\nGOOSE_MODEL: m # model\ncontext_servers:\n  dev:\n    enabled: true # yes\n'],
    ['yaml', '# goose\na: 1\n'],
    ['yaml', ''],
    ['toml', ''],
    ['jsonc', '{\n\t"context_servers": {\n\t\t"a": 1, // mine\n\t},\n}\n'],
    ['jsonc', '{\n  "context_servers": {\n    // none yet\n  }\n}\n'],
    ['yaml', '# goose\r\ncontext_servers:\r\n  dev:\r\n    args: [a, b]\r\n'],
    [
      'yaml',
      'context_servers:\n    dev:\n        cmd:   npx # mine\n        list:\n        - a\n\n# next\nlast: "x"\n',
    ],
    ['yaml', '# nothing yet\n'],
    ['yaml', 'mode: 017\nlong: 12345678901234567890\nratio: 1.50\n'],
    ['yaml', 'context_servers:\n  dev:\n    script: |\n      a\n      # b\nlast: 1\n'],
  ] as const)('restores %s byte for byte: %j', (format, before) => {
    const put = putEntry(before, format, 'context_servers', 'my.tools', { url: URL });
    expect(put).not.toBe(before);
    expect(dropEntry(put, format, 'context_servers', 'my.tools')).toBe(before);
  });

  it('keeps values and comments around the entry', () => {
    const toml = `[t.a] # mine\nurl = "x" # where\n\n[t.b]\nurl = "${URL}"\n\n[other] # stays\ny = 2 # two\n`;
    const after = dropEntry(toml, 'toml', 't', 'b');
    expect(EDITORS.toml.read(after)).toEqual({ t: { a: { url: 'x' } }, other: { y: 2 } });
    for (const comment of ['# mine', '# where', '# stays', '# two']) expect(after).toContain(comment);
    const inline = 't = { a = { url = "x" }, b = { url = "y" } } # all\n';
    expect(EDITORS.toml.read(dropEntry(inline, 'toml', 't', 'b'))).toEqual({ t: { a: { url: 'x' } } });
    const json = dropEntry('{"t": {"b": {"url": "y"}, /* a */ "a": 1}, "z": [1]} // end', 'jsonc', 't', 'b');
    expect([EDITORS.jsonc.read(json), json]).toEqual([{ t: { a: 1 }, z: [1] }, expect.stringContaining('// end')]);
  });

  it.each([
    [
      'jsonc',
      '{\n  "z": 1, // mine\n  /* mine */ "t": {"b": {"url": "y"}},\n}',
      '{\n  "z": 1, // mine\n  /* mine */ \n}',
    ],
    ['jsonc', '{"t": {"a": 1, // mine\n"b": {"url": "y"}}}', '{"t": {"a": 1 // mine\n}}'],
    ['jsonc', '{"t": {"b": {"url": "y"} /* mine */}}', '{"t": { /* mine */}}'],
    ['yaml', 'z: 1\nt:\n  # mine\n  b:\n    url: y\n', 'z: 1\nt: {}\n  # mine\n'],
  ] as const)('keeps comments of the user in %s: %j', (format, before, after) => {
    expect(dropEntry(before, format, 't', 'b')).toBe(after);
  });

  it('changes nothing if the entry does not exist', () => {
    for (const format of ['json', 'jsonc', 'toml', 'yaml'] as const) expect(dropEntry('', format, 't', 'a')).toBe('');
    expect(dropEntry('{"t": {"b": {}}}', 'json', 't', 'a')).toBe('{"t": {"b": {}}}');
  });
});
