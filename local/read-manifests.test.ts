import { describe, expect, it } from '@jest/globals';
import { problemText } from '#crds/parts/explain';
import { parseManifests } from '#local/read-manifests';
import { ACCEPTED, REFUSED } from './testdata/manifests.ts';
import { manifest, openServer } from './testdata/manifest-case.ts';

const read = (...texts: string[]) => parseManifests(texts.map((text, index) => ({ file: `${index}.yaml`, text })));
const lineOf: unknown = expect.any(Function);
const positionOf: unknown = expect.any(Function);
const told = (...texts: string[]) => read(...texts).problems.map(problemText);

describe('parseManifests on a valid manifest', () => {
  it.each(ACCEPTED)('accepts $of', ({ text }) => {
    expect(told(text)).toEqual([]);
    expect(read(text).resources.length).toBeGreaterThan(0);
  });
});

describe('parseManifests on an invalid manifest', () => {
  it.each(REFUSED)('reports file, line, path and remedy for $of', ({ text, problems }) => {
    expect(told(text)).toEqual(problems.map((problem) => `0.yaml:${problem}`));
  });

  it('covers at least eighty ways of writing a manifest, including the accepted ones', () => {
    expect(new Set([...ACCEPTED, ...REFUSED].map(({ text }) => text)).size).toBeGreaterThanOrEqual(80);
  });

  it.each(REFUSED)('reveals no value that may be secret: $of', ({ text }) => {
    expect(told(text).join('\n')).not.toMatch(/hunter2|1234|user:pass|not coded/);
  });
});

describe('parseManifests on several files', () => {
  it('keeps the readable resources when one file is broken', () => {
    const { resources, problems } = read('kind: [', manifest('MCPGroup', 'description: a'));
    expect(resources.map(({ kind, file, line }) => ({ kind, file, line }))).toEqual([
      { kind: 'MCPGroup', file: '1.yaml', line: 1 },
    ]);
    expect(problems.map(({ file, unreadable }) => ({ file, unreadable }))).toEqual([
      { file: '0.yaml', unreadable: true },
    ]);
  });

  it('keeps a resource with an invalid spec as it is written', () => {
    const { resources, problems } = read(manifest('MCPServer', 'imaeg: a'));
    expect(resources).toEqual([
      {
        kind: 'MCPServer',
        apiVersion: 'vmcp.dev/v1alpha1',
        metadata: { name: 'demo' },
        spec: { imaeg: 'a' },
        file: '0.yaml',
        line: 1,
        lineOf,
        positionOf,
      },
    ]);
    expect(problems[0]?.unreadable).toBeUndefined();
  });

  it('reports both positions of a duplicate resource, and keeps the first', () => {
    const { resources, problems } = read(
      manifest('MCPGroup', 'description: first'),
      `# moved\n${manifest('MCPGroup', 'description: second')}`,
    );
    expect(resources).toHaveLength(1);
    expect(problems.map(problemText)).toEqual([
      '1.yaml:5 metadata.name: MCPGroup `demo` is already written at 0.yaml:1, which counts; remove one of them',
    ]);
  });

  it('distinguishes resources of different namespaces', () => {
    const elsewhere = manifest('MCPGroup', 'description: b').replace('name: demo', 'name: demo\n  namespace: b');
    expect(told(manifest('MCPGroup', 'description: a'), elsewhere)).toEqual([]);
    expect(
      told(elsewhere.replace('namespace: b', 'namespace: default'), manifest('MCPGroup', 'description: a')),
    ).toHaveLength(1);
  });

  it('ignores kinds of other programs, with one notice each', () => {
    const foreign = ['v1 Namespace', 'v1 ServiceAccount', 'apps/v1 Deployment'].map((named) => {
      const [apiVersion = '', kind = ''] = named.split(' ');
      return `apiVersion: ${apiVersion}\nkind: ${kind}\nmetadata: { name: a }\n`;
    });
    const { resources, problems, notices } = read([...foreign, manifest('MCPGroup', 'description: a')].join('---\n'));
    expect(problems).toEqual([]);
    expect(resources.map(({ kind }) => kind)).toEqual(['MCPGroup']);
    expect(notices.map(problemText)).toEqual([
      '0.yaml:2 kind: `Namespace` is passed over, as vmcp does not read it',
      '0.yaml:6 kind: `ServiceAccount` is passed over, as vmcp does not read it',
      '0.yaml:10 kind: `Deployment` is passed over, as vmcp does not read it',
    ]);
  });

  it('rejects a List, whose items would be lost', () => {
    const list = `apiVersion: v1\nkind: List\nitems:\n  - ${manifest('MCPGroup', 'description: a').trim().replaceAll('\n', '\n    ')}\n`;
    expect(told(list)).toEqual([
      expect.stringContaining('write each of its items as a document of its own, with `---` between them'),
    ]);
  });

  it('warns about an API group that differs by a typo, and names the right one', () => {
    const group = (name: string, of: string) =>
      manifest('MCPGroup', 'description: a').replace('demo', name).replace('vmcp.dev', of);
    const told = (...groups: string[]) =>
      read(...groups.map((of, index) => group(`g${index}`, of))).notices.map(problemText);
    const said = (file: number, wrong: string, right: string) =>
      `${file}.yaml:1 apiVersion: the API group \`${wrong}\` differs by a few letters from that of other resources; write \`${right}/v1alpha1\``;
    expect(told('vmcp.dev', 'vmpc.dev')).toEqual([said(1, 'vmpc.dev', 'vmcp.dev')]);
    expect(told('vmcp.acme.dev', 'vmcp.acme.dev', 'vmcp.amce.dev')).toEqual([
      said(2, 'vmcp.amce.dev', 'vmcp.acme.dev'),
    ]);
    expect(told('mcp.dev')).toEqual([]);
    expect(told('vmcp.dev', 'toolhive.stacklok.dev')).toEqual([]);
  });

  it('returns the API groups that it read', () => {
    expect(
      read(openServer(''), manifest('MCPGroup', '{}').replace('vmcp.dev', 'toolhive.stacklok.dev')).groups,
    ).toEqual(['toolhive.stacklok.dev', 'vmcp.dev']);
  });

  it('returns the first line of each document of a file', () => {
    const text = `${manifest('MCPGroup', 'description: a')}---\n\n${manifest('MCPServer', 'image: a')}`;
    expect(read(text).resources.map(({ line }) => line)).toEqual([1, 9]);
  });
});

describe('parseManifests on Secrets and ConfigMaps', () => {
  it('decodes data, separates binary values, and prefers stringData', () => {
    const text =
      'apiVersion: v1\nkind: Secret\nmetadata: { name: s }\nstringData: { a: plain }\ndata: { a: /w==, b: Y29kZWQ=, c: /w== }\n';
    expect(read(text).resources).toEqual([
      {
        kind: 'Secret',
        metadata: { name: 's' },
        values: { a: 'plain', b: 'coded' },
        binaryKeys: ['c'],
        file: '0.yaml',
        line: 1,
        lineOf,
        positionOf,
      },
    ]);
  });

  it('returns the texts of a ConfigMap', () => {
    const text = 'apiVersion: v1\nkind: ConfigMap\nmetadata: { name: c, namespace: n }\ndata:\n  a: |\n    x\n';
    expect(read(text).resources).toEqual([
      {
        kind: 'ConfigMap',
        metadata: { name: 'c', namespace: 'n' },
        data: { a: 'x\n' },
        file: '0.yaml',
        line: 1,
        lineOf,
        positionOf,
      },
    ]);
  });

  it('resolves merge keys and anchors', () => {
    const text =
      'apiVersion: v1\nkind: ConfigMap\nmetadata: &m { name: c }\ndata:\n  a: &x b\n  c: *x\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: { <<: { name: d } }\n';
    expect(
      read(text).resources.map((resource) => [resource.metadata.name, 'data' in resource && resource.data]),
    ).toEqual([
      ['c', { a: 'b', c: 'b' }],
      ['d', {}],
    ]);
  });
});

describe('parseManifests on a file beyond the limits', () => {
  const config = 'apiVersion: v1\nkind: ConfigMap\nmetadata: { name: c }\n';

  it('rejects a file that is larger than 4 MiB', () => {
    expect(told(`${config}# ${'x'.repeat(4 * 1024 * 1024)}`)).toEqual([
      '0.yaml:1: larger than 4194304 bytes; split it into several files',
    ]);
  });

  it('rejects more than 1000 documents', () => {
    expect(told('---\na: b\n'.repeat(1001))).toEqual([
      '0.yaml:1: has more than 1000 documents; split it into several files',
    ]);
  });

  it('rejects aliases that multiply', () => {
    const layers = Array.from({ length: 9 }, (_, index) => {
      const before = index === 0 ? '"x"' : `*l${index - 1}`;
      return `l${index}: &l${index} [${Array.from({ length: 9 }, () => before).join(', ')}]`;
    });
    expect(told(layers.join('\n'))).toEqual(['0.yaml:1: has more than 100 aliases; write the values out']);
  });

  it('rejects nesting that exceeds the stack', () => {
    expect(told(`a: ${'['.repeat(100_000)}`)).toEqual(['0.yaml:1: nested too deeply; make it flatter']);
    expect(told('- '.repeat(20_000))).toHaveLength(1);
  });

  it('reads a file with very many keys in time', () => {
    const keys = Array.from({ length: 20_000 }, (_, index) => `  k${index}: v\n`).join('');
    expect(told(`${config}data:\n${keys}`)).toEqual(['0.yaml:4 data: has more than 1000 entries; remove some']);
  });

  it('reports the first hundred problems of a document, each with its line, in time', () => {
    const fields = Array.from({ length: 20_000 }, (_, index) => `  field${index}: v\n`).join('');
    const before = performance.now();
    const found = told(`apiVersion: vmcp.dev/v1alpha1\nkind: MCPGroup\nmetadata: { name: g }\nspec:\n${fields}`);
    expect(performance.now() - before).toBeLessThan(30_000);
    expect(found).toHaveLength(101);
    expect(found[99]).toContain('0.yaml:104 spec.field99: unknown field `field99`');
    expect(found[100]).toBe('0.yaml:1: more is wrong here; mend what is told, and look again');
  });
});
