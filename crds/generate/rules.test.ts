import { describe, expect, it } from '@jest/globals';
import { Environment } from '@marcbachmann/cel-js';
import { parseAllDocuments } from 'yaml';
import { KIND_NAMES, type KindName, OBJECTS } from '#crds/kinds/index';
import { pathText } from '#crds/parts/explain';
import { nodesOf, type SchemaNode } from '#crds/generate/schema-node';
import { structuralSchema } from '#crds/generate/structural';
import { ACCEPTED, REFUSED } from '#local/testdata/manifests';

// What the API server would do with the rules of the CRDs, on the same manifests that the refinements are tried with.

const environment = new Environment({ unlistedVariablesAreDyn: true });
// `indexOf` is of Kubernetes' own CEL library for lists.
environment.registerFunction('list.indexOf(dyn): int', (list: unknown[], item: unknown) => BigInt(list.indexOf(item)));

const RESERVED = new Set(['namespace']);

/** Fields as CEL sees them in Kubernetes: reserved words between underscores. */
function escaped(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(escaped);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]) => [RESERVED.has(key) ? `__${key}__` : key, escaped(inner)]),
  );
}

/** Defaults as the API server sets them before it evaluates. */
function withDefaults(value: unknown, node: SchemaNode): unknown {
  if (Array.isArray(value)) return value.map((item) => withDefaults(item, node.items ?? {}));
  if (typeof value !== 'object' || value === null) return value;
  const filled: Record<string, unknown> = { ...value };
  for (const [name, child] of Object.entries(node.properties ?? {})) {
    if (filled[name] === undefined && child.default !== undefined) filled[name] = structuredClone(child.default);
    if (filled[name] !== undefined) filled[name] = withDefaults(filled[name], child);
  }
  if (typeof node.additionalProperties === 'object') {
    for (const [name, inner] of Object.entries(value)) filled[name] = withDefaults(inner, node.additionalProperties);
  }
  return filled;
}

/** `path: message` of each rule of the CRD that a value breaks. */
function broken(value: unknown, node: SchemaNode, path: (string | number)[] = []): string[] {
  const found = (node['x-kubernetes-validations'] ?? [])
    .filter(({ rule }) => environment.evaluate(rule, { self: escaped(value) }) !== true)
    .map(
      ({ message, fieldPath = '' }) => `${pathText([...path, ...fieldPath.split('.').filter(Boolean)])}: ${message}`,
    );
  if (Array.isArray(value)) {
    return [...found, ...value.flatMap((item, index) => broken(item, node.items ?? {}, [...path, index]))];
  }
  if (typeof value !== 'object' || value === null) return found;
  const children = Object.entries(value).flatMap(([name, inner]) => {
    const child =
      node.properties?.[name] ?? (node.additionalProperties === false ? undefined : node.additionalProperties);
    return child === undefined ? [] : broken(inner, child, [...path, name]);
  });
  return [...found, ...children];
}

const schemas = Object.fromEntries(
  Object.keys(KIND_NAMES).map((kind) => [kind, structuralSchema(OBJECTS[kind as KindName])]),
) as Record<KindName, SchemaNode>;

const messages = new Set(
  Object.values(schemas).flatMap((schema) =>
    [...nodesOf(schema)].flatMap(([, node]) => (node['x-kubernetes-validations'] ?? []).map(({ message }) => message)),
  ),
);

interface Sample {
  of: string;
  kind: KindName;
  document: unknown;
}

/** The documents of our kinds whose fields have the right types: only then does the API server evaluate rules. */
const samples = [...ACCEPTED, ...REFUSED].flatMap(({ of, text }): Sample[] =>
  [parseAllDocuments(text, { merge: true })].flat().flatMap((document): Sample[] => {
    if (!('contents' in document) || document.errors.length > 0 || of.includes('alias')) return [];
    const value = document.toJS() as { kind?: KindName } | null;
    if (value?.kind === undefined || !(value.kind in OBJECTS)) return [];
    const issues = OBJECTS[value.kind].safeParse(value).error?.issues ?? [];
    return issues.every(({ code }) => code === 'custom') ? [{ of, kind: value.kind, document: value }] : [];
  }),
);

describe('the rules of the CRDs', () => {
  it.each(samples)('say of $of what the refinements say', ({ kind, document }) => {
    const refused = (OBJECTS[kind].safeParse(document).error?.issues ?? [])
      .filter(({ message }) => messages.has(message))
      .map(({ path, message }) => `${pathText(path)}: ${message}`);
    // CEL has no days: what is written with them only the refinement measures.
    const days = JSON.stringify(document).includes('"2d"');
    expect(broken(withDefaults(document, schemas[kind]), schemas[kind]).sort()).toEqual(days ? [] : refused.sort());
  });

  it('are each broken by one of the samples at least', () => {
    const seen = new Set(
      samples.flatMap(({ kind, document }) =>
        broken(withDefaults(document, schemas[kind]), schemas[kind]).map((text) => text.replace(/^[^:]*: /, '')),
      ),
    );
    expect([...messages].filter((message) => !seen.has(message) && !message.startsWith('metadata.name'))).toEqual([]);
  });

  it.each([
    ['demo', true],
    ['a', true],
    ['a'.repeat(45), true],
    ['a'.repeat(46), false],
    ['1a', false],
    ['a-', false],
    ['A', false],
    ['a.b', false],
    ['', false],
  ])('take the name %p of every kind: %p', (name, taken) => {
    for (const [kind, schema] of Object.entries(schemas)) {
      const [rule] = schema['x-kubernetes-validations'] ?? [];
      expect(environment.evaluate(rule!.rule, { self: { metadata: { name } } })).toBe(taken);
      const issues = OBJECTS[kind as KindName].safeParse({ metadata: { name } }).error?.issues ?? [];
      expect(issues.every(({ path }) => path.join('.') !== 'metadata.name')).toBe(taken);
    }
  });
});
