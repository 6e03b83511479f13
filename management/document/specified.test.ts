import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { z } from 'zod';
import { SAMPLES } from '../testdata/operation-samples.ts';
import { type Answer, SPECIFIED } from '../testdata/specified-operations.ts';
import { ADDED, RECORDS, type Shape } from '../testdata/specified-records.ts';

/** Names of records in the document that differ from the specification. */
const NAMES: Readonly<Record<string, string>> = { WorkloadRunConfiguration: 'RunConfiguration' };

interface Schema {
  $ref?: string | undefined;
  type?: string | undefined;
  const?: string | undefined;
  enum?: readonly string[] | undefined;
  anyOf?: readonly Schema[] | undefined;
  items?: Schema | undefined;
  properties?: Record<string, Schema> | undefined;
  additionalProperties?: boolean | Schema | undefined;
}
const Schema: z.ZodType<Schema> = z.lazy(() =>
  z.object({
    $ref: z.string().optional(),
    type: z.string().optional(),
    const: z.string().optional(),
    enum: z.array(z.string()).optional(),
    anyOf: z.array(Schema).optional(),
    items: Schema.optional(),
    properties: z.record(z.string(), Schema).optional(),
    additionalProperties: z.union([z.boolean(), Schema]).optional(),
  }),
);
const Content = z.object({
  content: z.object({ 'application/json': z.object({ schema: Schema }).optional() }).optional(),
});
const Document = z.object({
  paths: z.record(
    z.string(),
    z.record(
      z.string(),
      z.object({
        parameters: z.array(z.object({ name: z.string(), in: z.string() })),
        requestBody: Content.optional(),
        responses: z.record(z.string(), Content),
      }),
    ),
  ),
  components: z.object({ schemas: z.record(z.string(), Schema) }),
});
const { paths, components } = Document.parse(
  JSON.parse(readFileSync(join(import.meta.dirname, '../openapi.json'), 'utf8')),
);
type Operation = (typeof paths)[string][string];
const OPERATIONS = new Map<string, Operation>(
  Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]): [string, Operation] => [
      `${method.toUpperCase()} ${path}`,
      operation,
    ]),
  ),
);

/** Returns a schema in the format of `RECORDS`; other records by name. */
function shapeOf(schema: Schema): Shape {
  const { $ref, const: only, anyOf, items, properties, additionalProperties } = schema;
  if ($ref !== undefined) {
    const name = $ref.replace(/^.*\//, '');
    return NAMES[name] ?? name;
  }
  if (only !== undefined) return only;
  if (schema.enum) return schema.enum.join('|');
  if (anyOf) return [...new Set(anyOf.map(({ type }) => type ?? 'any'))].join(' or ');
  if (items) return [shapeOf(items)];
  if (properties) return Object.fromEntries(Object.entries(properties).map(([name, one]) => [name, shapeOf(one)]));
  if (typeof additionalProperties === 'object') return { '*': shapeOf(additionalProperties) };
  return schema.type ?? 'any';
}

/** Returns a shape without record names and with sorted enumerations. */
function plain(shape: Shape): unknown {
  if (typeof shape === 'string') return RECORDS[shape] ? plain(RECORDS[shape]) : shape.split('|').sort();
  if (Array.isArray(shape)) return shape.map((one: Shape) => plain(one));
  return Object.fromEntries(Object.entries(shape).map(([field, one]) => [field, plain(one)]));
}

const without = (shape: Shape, fields: readonly string[]): Shape =>
  typeof shape === 'object' && !Array.isArray(shape)
    ? Object.fromEntries(Object.entries(shape).filter(([field]) => !fields.includes(field)))
    : shape;

const answerOf = (at: string): Schema | undefined => {
  const { responses = {} } = OPERATIONS.get(at) ?? {};
  return Object.entries(responses).find(([status]) => status < '300')?.[1].content?.['application/json']?.schema;
};

/** Returns the fields of a request body. */
function sentFields(at: string): string[] {
  const schema = OPERATIONS.get(at)?.requestBody?.content?.['application/json']?.schema;
  const named = schema?.$ref === undefined ? schema : components.schemas[schema.$ref.replace(/^.*\//, '')];
  return Object.keys(named?.properties ?? {});
}

/** Schemas of records without a name in the document. */
const PLACES: Readonly<Record<string, Schema | undefined>> = {
  Client: answerOf('POST /clients'),
  InstalledSkill: answerOf('POST /skills')?.properties?.skill,
  SkillMetadata: answerOf('GET /skills/{name}')?.properties?.metadata,
  RunConfiguration: components.schemas.WorkloadRunConfiguration,
};

describe('a specified operation', () => {
  it.each(SPECIFIED)('has its query, body and statuses: $at', ({ at, query = [], body = [], ...answers }) => {
    const { parameters = [], responses = {} } = OPERATIONS.get(at) ?? {};
    const asked = parameters.filter((one) => one.in === 'query').map(({ name }) => name);
    expect(asked).toEqual(expect.arrayContaining([...query]));
    expect(sentFields(at)).toEqual(expect.arrayContaining([...body]));
    const listed = Object.keys(responses).map(Number);
    expect(listed.filter((status) => status < 300)).toEqual([answers.success]);
    expect(listed).toEqual(expect.arrayContaining([...answers.others]));
  });

  it.each(SPECIFIED.filter(({ answer }) => answer !== undefined))(
    'answers the specified schema: $at',
    ({ at, answer }) => {
      const schema = answerOf(at);
      expect(schema).toBeDefined();
      const added = ['next_cursor', 'archive', 'warnings', ...(ADDED.Client ?? []), ...(ADDED.WorkloadDetail ?? [])];
      const told = shapeOf(schema ?? {});
      const one = (shape: Shape): unknown => plain(without(shape, added));
      if (typeof answer === 'string') expect(one(told)).toEqual(one(answer));
      else if (Array.isArray(answer)) expect(Array.isArray(told) && told.map(one)).toEqual(answer.map(one));
      else expect(one(told)).toEqual(one(answer as Exclude<Answer, undefined>));
    },
  );

  it('appears in the document together with the operations of the decisions', () => {
    const ours = SPECIFIED.map(({ at }) => at);
    const all = Object.values(SAMPLES).map(({ at }) => at);
    expect([...OPERATIONS.keys()]).toEqual(expect.arrayContaining([...ours, ...all]));
    expect(new Set(ours).size).toBe(21);
  });
});

describe('a specified record', () => {
  it.each(Object.entries(RECORDS))('has exactly these fields, types and values: %s', (name, shape) => {
    const schema = PLACES[name] ?? components.schemas[name];
    expect(schema).toBeDefined();
    const told = shapeOf(schema ?? {});
    expect(plain(without(told, ADDED[name] ?? []))).toEqual(plain(shape));
    for (const field of ADDED[name] ?? []) expect(told).toHaveProperty(field);
  });
});
