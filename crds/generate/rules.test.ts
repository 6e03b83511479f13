import { describe, expect, it } from '@jest/globals';
import { Environment } from '@marcbachmann/cel-js';
import { parseAllDocuments } from 'yaml';
import { KIND_NAMES, type KindName, OBJECTS } from '#crds/kinds/index';
import { pathText } from '#crds/parts/explain';
import { nodesOf, type SchemaNode } from '#crds/generate/schema-node';
import { structuralSchema } from '#crds/generate/structural';
import { ACCEPTED, REFUSED } from '#local/testdata/manifests';

// Evaluates the rules of the CRDs like the API server, on the manifests that also test the refinements.

const environment = new Environment({ unlistedVariablesAreDyn: true });
// `indexOf` is part of Kubernetes' own CEL library for lists.
environment.registerFunction('list.indexOf(dyn): int', (list: unknown[], item: unknown) => BigInt(list.indexOf(item)));

const RESERVED = new Set(['namespace']);

/** Escapes reserved words in field names as Kubernetes does for CEL, with underscores. */
function escaped(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(escaped);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]) => [RESERVED.has(key) ? `__${key}__` : key, escaped(inner)]),
  );
}

/** Sets defaults like the API server before an evaluation. */
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

/** Returns `path: message` for each rule of the CRD that a value violates. */
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

/** Documents of vmcp's kinds with correct field types; the API server evaluates rules only for these. */
const samples = [...ACCEPTED, ...REFUSED].flatMap(({ of, text }): Sample[] =>
  [parseAllDocuments(text, { merge: true })].flat().flatMap((document): Sample[] => {
    if (!('contents' in document) || document.errors.length > 0 || of.includes('alias')) return [];
    const value = document.toJS() as { kind?: KindName } | null;
    if (value?.kind === undefined || !(value.kind in OBJECTS)) return [];
    const issues = OBJECTS[value.kind].safeParse(value).error?.issues ?? [];
    return issues.every(({ code }) => code === 'custom') ? [{ of, kind: value.kind, document: value }] : [];
  }),
);

describe('rules of the CRDs', () => {
  it.each(samples)('agree with the refinements about $of', ({ kind, document }) => {
    const rules = broken(withDefaults(document, schemas[kind]), schemas[kind]);
    const refused = (OBJECTS[kind].safeParse(document).error?.issues ?? [])
      .filter(({ message }) => messages.has(message))
      .map(({ path, message }) => {
        const text = `${pathText(path)}: ${message}`;
        // CEL reports a list as a whole, a refinement may name the fields of its entries.
        const ofList = rules.find(
          (rule) =>
            rule.endsWith(`: ${message}`) && pathText(path).startsWith(`${rule.slice(0, -message.length - 2)}[`),
        );
        return ofList ?? text;
      });
    // CEL has no days, so only the refinement measures such durations.
    const days = JSON.stringify(document).includes('"2d"');
    expect(rules.sort()).toEqual(days ? [] : [...new Set(refused)].sort());
  });

  it('reject at least one sample each', () => {
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
  ])('accept the name %p for every kind: %p', (name, taken) => {
    for (const [kind, schema] of Object.entries(schemas)) {
      const [rule] = schema['x-kubernetes-validations'] ?? [];
      expect(environment.evaluate(rule!.rule, { self: { metadata: { name } } })).toBe(taken);
      const issues = OBJECTS[kind as KindName].safeParse({ metadata: { name } }).error?.issues ?? [];
      expect(issues.every(({ path }) => path.join('.') !== 'metadata.name')).toBe(taken);
    }
  });
});
