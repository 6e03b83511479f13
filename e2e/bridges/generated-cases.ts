import type { Tool } from '@modelcontextprotocol/server';
import fc from 'fast-check';

/** A tool, and the outcome of its calls. */
export interface Case {
  readonly tool: Omit<Tool, 'name'>;
  readonly outcome: { readonly result: object } | { readonly error: { code: number; message: string; data: unknown } };
}

export const word = fc.string({ minLength: 1, maxLength: 12, unit: 'grapheme' });
export const json = fc.jsonValue({ maxDepth: 3 });
export const meta = fc.dictionary(fc.constantFrom('a.example/x', 'y', 'progressToken'), word, { maxKeys: 2 });

const { schema } = fc.letrec<{ schema: unknown }>((tie) => ({
  schema: fc.oneof(
    { maxDepth: 3 },
    fc.constantFrom<unknown>(true, false, { type: 'string' }, { $ref: '#' }, { $ref: '#/$defs/a' }, { $ref: '#b' }),
    fc.record({ const: json }),
    fc.record({ default: fc.constant({ $ref: '#' }), $id: fc.constantFrom('#name', 'https://a.example/s') }),
    fc.record({ type: fc.constant('array'), items: tie('schema') }),
    fc.record({ anyOf: fc.array(tie('schema'), { minLength: 1, maxLength: 2 }) }),
    fc.record({
      type: fc.constant('object'),
      properties: fc.dictionary(fc.constantFrom('a', 'default', '$ref', '$id'), tie('schema'), { maxKeys: 3 }),
    }),
  ),
}));

const objectSchema = fc.record(
  {
    type: fc.constant('object' as const),
    properties: fc.dictionary(word, schema, { maxKeys: 3 }),
    $defs: fc.record({ a: schema }),
  },
  { requiredKeys: ['type'] },
);
const rootSchema = fc.oneof(
  objectSchema,
  fc.record(
    { $schema: fc.constant('https://json-schema.org/draft/2020-12/schema'), items: schema, anyOf: fc.tuple(schema) },
    { requiredKeys: [] },
  ),
);

const data = fc.constant('AAAA');
const block = fc.oneof(
  fc.record(
    { type: fc.constant('text'), text: fc.string({ unit: 'binary', maxLength: 20 }), _meta: meta },
    {
      requiredKeys: ['type', 'text'],
    },
  ),
  fc.record({ type: fc.constant('image'), data, mimeType: fc.constant('image/png') }),
  fc.record({ type: fc.constant('audio'), data, mimeType: fc.constant('audio/wav') }),
  fc.record({ type: fc.constant('resource'), resource: fc.record({ uri: fc.constant('a:b'), text: word }) }),
  fc.record({ type: fc.constant('resource_link'), uri: fc.constant('a:b'), name: word }),
);

const result = fc.record(
  { content: fc.array(block, { maxLength: 3 }), structuredContent: json, isError: fc.boolean(), _meta: meta },
  { requiredKeys: ['content'] },
);
const error = fc.record({ code: fc.constantFrom(-32603, -32602, -32000, 7), message: word, data: json });

export const cases: fc.Arbitrary<Case[]> = fc.array(
  fc.record({
    tool: fc.record(
      { title: word, description: word, inputSchema: objectSchema, outputSchema: rootSchema, _meta: meta },
      { requiredKeys: ['inputSchema'] },
    ) as fc.Arbitrary<Case['tool']>,
    outcome: fc.oneof({ weight: 4, arbitrary: fc.record({ result }) }, { weight: 1, arbitrary: fc.record({ error }) }),
  }),
  { minLength: 1, maxLength: 15 },
);
