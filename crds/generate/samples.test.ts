import { describe, expect, it } from '@jest/globals';
import { parseAllDocuments } from 'yaml';
import { OBJECTS } from '#crds/kinds/index';
import type { SchemaNode } from '#crds/generate/schema-node';
import { structuralSchema } from '#crds/generate/structural';
import { ACCEPTED } from '#local/testdata/manifests';

/** Returns every field of a schema by path; entries of lists and maps count once. */
function fields(node: SchemaNode, path: string): string[] {
  const properties = Object.entries(node.properties ?? {}).flatMap(([name, child]) => {
    const at = `${path}.${name}`;
    return [at, ...fields(child, at)];
  });
  const items = node.items === undefined ? [] : fields(node.items, `${path}[]`);
  const values = typeof node.additionalProperties === 'object' ? fields(node.additionalProperties, `${path}{}`) : [];
  return [...properties, ...items, ...values];
}

/** Returns every field of the schema that a value sets. */
function written(value: unknown, node: SchemaNode, path: string): string[] {
  if (Array.isArray(value)) return value.flatMap((item) => written(item, node.items ?? {}, `${path}[]`));
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([name, inner]) => {
    const child = node.properties?.[name];
    if (child !== undefined) return [`${path}.${name}`, ...written(inner, child, `${path}.${name}`)];
    const { additionalProperties } = node;
    return typeof additionalProperties === 'object' ? written(inner, additionalProperties, `${path}{}`) : [];
  });
}

const documents = ACCEPTED.flatMap(({ text }) =>
  [parseAllDocuments(text, { merge: true })].flat().flatMap((document) => {
    const value = 'contents' in document ? (document.toJS() as { kind?: string; spec?: unknown } | null) : null;
    return value === null ? [] : [value];
  }),
);

const schemas = new Map(
  Object.entries(OBJECTS).map(([kind, object]) => [kind, structuralSchema(object).properties?.spec ?? {}]),
);

/** A shape that several paths share is tested at one of them. */
const lastSteps = (path: string) => path.split('.').slice(-2).join('.');

/** Rejected everywhere, with a remedy: see refused-by-runtime.ts. */
const REFUSED = ['kubernetes.introspectionUrl', 'kubernetesServiceAccount.introspectionUrl'];

const tried = new Set(
  documents.flatMap(({ kind = '', spec }) => written(spec, schemas.get(kind) ?? {}, 'spec').map(lastSteps)),
);

describe('accepted samples', () => {
  it.each([...schemas])('set every field of %s', (_, schema) => {
    expect(
      fields(schema, 'spec')
        .map(lastSteps)
        .filter((path) => !tried.has(path) && !REFUSED.includes(path)),
    ).toEqual([]);
  });
});
