import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { parseAllDocuments, stringify } from 'yaml';
import { CannotEdit, editDocument, newDocument, removeDocument } from './edit-document.ts';

const TEXT = `# The team's servers.

# --- the group
apiVersion: vmcp.dev/v1alpha1
kind: MCPGroup
metadata: {name: team}
spec: {}
---
# Searches things.
apiVersion: vmcp.dev/v1alpha1
kind: MCPServer   # a backend
metadata:
    name: search
spec:
    # pinned by hand
    image: "registry.example/search:1"  # do not float
    env:
    # first
    - name: LANG
      value: en   # English
    - {name: MODE, value: fast}
    # how many may wait
    - name: QUEUE
      value: '7'

    groupRef: team
    args: [ "--verbose", --limit, "3" ]
    # last word
---
apiVersion: vmcp.dev/v1alpha1
kind:   MCPServer
metadata: { name:   other }
spec: { image: x, groupRef: team }
`;

interface Server {
  apiVersion: string;
  kind: string;
  metadata: { name: string; labels?: Record<string, string> };
  spec: Record<string, unknown> & { env?: { name: string; value: string }[] };
}
const read = (text: string) => parseAllDocuments(text, { merge: true }).map((document) => document.toJS() as Server);
const change = (how: (server: Server) => void, text = TEXT, at = 1) => {
  const server = structuredClone(read(text)[at]!);
  how(server);
  return editDocument(text, at, { ...server });
};
/** Removed and added lines. */
const difference = (after: string, before = TEXT) => ({
  gone: before.split('\n').filter((line) => !after.split('\n').includes(line)),
  come: after.split('\n').filter((line) => !before.split('\n').includes(line)),
});

describe('editDocument', () => {
  it('keeps a document that already has the wanted content', () => {
    expect(change(() => undefined)).toBe(TEXT);
  });

  it('changes the line of a changed value, and keeps its comment and its quotes', () => {
    const after = change(({ spec }) => (spec.image = 'registry.example/search:2'));
    expect(difference(after)).toEqual({
      gone: ['    image: "registry.example/search:1"  # do not float'],
      come: ['    image: "registry.example/search:2"  # do not float'],
    });
  });

  it('adds new fields at the end, and removes the lines of deleted fields', () => {
    const after = change(({ metadata, spec }) => {
      metadata.labels = { tier: 'on' };
      delete spec.groupRef;
      spec.proxyPort = 8080;
      spec.toolsOverride = { find: { description: 'Finds\nthings\n' } };
    });
    expect(difference(after)).toEqual({
      gone: ['    groupRef: team'],
      come: [
        '    labels:',
        '      tier: "on"',
        '    proxyPort: 8080',
        '    toolsOverride:',
        '      find:',
        '        description: |',
        '          Finds',
        '          things',
      ],
    });
    expect(read(after)[1]?.metadata.labels).toEqual({ tier: 'on' });
  });

  it('keeps the comments and the form of remaining list entries', () => {
    const after = change(({ spec }) => {
      spec.env![0]!.value = 'de';
      spec.env!.splice(1, 1);
      spec.env!.push({ name: 'NEW', value: 'yes' });
    });
    expect(difference(after)).toEqual({
      gone: ['      value: en   # English', '    - {name: MODE, value: fast}'],
      come: ['      value: de # English', '    - name: NEW', '      value: "yes"'],
    });
  });

  it('keeps the comments of deleted fields that are on lines of their own', () => {
    expect(change(({ spec }) => delete spec.image)).toContain('    # pinned by hand\n    env:\n');
    expect(change(({ spec }) => delete spec.args)).toContain('    groupRef: team\n    # last word\n---\n');
  });

  it('rewrites the whole document only if it is in braces', () => {
    const after = change(({ spec }) => (spec.image = 'z'), TEXT, 2);
    expect(difference(after)).toEqual({
      gone: ['spec: { image: x, groupRef: team }'],
      come: ['spec: {image: z, groupRef: team}'],
    });
    const json = JSON.stringify(read(TEXT)[1], null, 2);
    expect(read(change(({ spec }) => (spec.image = 'z'), json, 0))[0]?.spec.image).toBe('z');
  });

  it('keeps the line ends of another system', () => {
    const text = TEXT.replaceAll('\n', '\r\n');
    const after = change(({ spec }) => {
      spec.image = 'y';
      spec.path = '/x';
    }, text);
    expect(after.replaceAll('\r\n', '').includes('\n')).toBe(false);
    expect(difference(after.replaceAll('\r', ''))).toEqual({
      gone: ['    image: "registry.example/search:1"  # do not float'],
      come: ['    image: "y"  # do not float', '    path: /x'],
    });
  });

  it('adds lines to a document without a final line end', () => {
    const after = change(({ spec }) => (spec.path = '/x'), 'kind: A\nmetadata: {name: a}\nspec:\n  image: x', 0);
    expect(after).toBe('kind: A\nmetadata: {name: a}\nspec:\n  image: x\n  path: /x\n');
  });

  it('edits a document with anchors where they are not affected, and else only with force', () => {
    const text = `kind: A
metadata: {name: a}
common: &common {LANG: en}
spec:
  env: *common
  more: {<<: *common, MODE: fast}
  image: x
`;
    expect(change(({ spec }) => (spec.image = 'z'), text, 0)).toBe(text.replace('image: x', 'image: z'));
    expect(change(({ spec }) => (spec.env = { LANG: 'de' } as never), text, 0)).toBe(
      text.replace(' env: *common', ' env:\n    LANG: de'),
    );
    expect(change(({ spec }) => (spec.more = { LANG: 'en', MODE: 'slow' }), text, 0)).toBe(
      text.replace('fast', 'slow'),
    );
    expect(change(({ spec }) => (spec.more = { MODE: 'fast' }), text, 0)).toBe(text.replace('<<: *common, ', ''));
    const wanted: Record<string, unknown> = { ...read(text)[0] };
    delete wanted.common;
    expect(() => editDocument(text, 0, wanted)).toThrow(CannotEdit);
    expect(read(editDocument(text, 0, wanted, true))).toEqual([wanted]);
  });

  const value = fc.oneof(
    fc.string({ unit: 'binary', maxLength: 12 }),
    fc.constantFrom(
      'yes',
      'on',
      '0x1',
      '1:20',
      '---',
      '- a',
      '# no',
      '{',
      'a: b',
      ' x ',
      'two\nlines\n',
      '\t',
      'null',
      '',
    ),
    fc.integer(),
    fc.boolean(),
  );
  const anything = fc.letrec<{ node: unknown }>((tie) => ({
    node: fc.oneof(
      { maxDepth: 3 },
      value,
      fc.array(tie('node'), { maxLength: 3 }),
      fc.dictionary(fc.constantFrom('name', 'a', 'b', 'c', 'odd key', '5'), tie('node'), { noNullPrototype: true }),
    ),
  })).node;
  const document = fc.dictionary(fc.constantFrom('spec', 'kind', 'metadata', 'x'), anything, {
    minKeys: 1,
    noNullPrototype: true,
  });

  it('produces the wanted content from any content, and keeps the other documents', () => {
    fc.assert(
      fc.property(document, document, document, fc.constantFrom(2, 4), (before, after, beside, indent) => {
        const text = `${stringify(beside)}---\n# head\n${stringify(before, { indent })}---\n${stringify(beside)}`;
        const edited = editDocument(text, 1, after);
        expect(read(edited)).toEqual([beside, after, beside]);
        expect(edited.startsWith(`${stringify(beside)}---\n# head\n`)).toBe(true);
        expect(edited.endsWith(`---\n${stringify(beside)}`)).toBe(true);
      }),
      { numRuns: 100 },
    );
  });

  it('keeps each comment while nothing is removed', () => {
    const comments = TEXT.split('\n').flatMap((line) => /#.*$/.exec(line)?.[0] ?? []);
    fc.assert(
      fc.property(fc.dictionary(fc.constantFrom('a', 'b'), anything), value, anything, (more, image, args) => {
        const after = change(({ spec }) => Object.assign(spec, more, { image, args }));
        for (const comment of comments) expect(after).toContain(comment);
      }),
      { numRuns: 50 },
    );
  });
});

describe('removeDocument', () => {
  it.each([0, 1, 2])('keeps the other documents as they are: %i', (at) => {
    const after = removeDocument(TEXT, at);
    expect(read(after)).toEqual(read(TEXT).filter((_, index) => index !== at));
    expect(difference(after).come).toEqual([]);
  });

  it('returns an empty text for the only document', () => {
    expect(removeDocument('kind: A\n', 0)).toBe('');
  });
});

it('writes a new document that an older YAML version reads the same', () => {
  expect(newDocument({ env: [{ name: 'A', value: 'yes' }], port: '0x1F', text: 'x'.repeat(200) })).toBe(
    `env:\n  - name: A\n    value: "yes"\nport: "0x1F"\ntext: ${'x'.repeat(200)}\n`,
  );
});
