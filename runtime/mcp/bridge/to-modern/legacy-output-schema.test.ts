import { describe, expect, it } from '@jest/globals';
import { wrappedSchema } from './legacy-output-schema.ts';

const resultOf = (schema: unknown) => (wrappedSchema(schema).properties as { result: unknown }).result;

describe('wrappedSchema', () => {
  it('makes a schema that of the member result, with its dialect at the root', () => {
    expect(wrappedSchema({ $schema: 'https://a.example', type: 'array' })).toEqual({
      $schema: 'https://a.example',
      type: 'object',
      properties: { result: { $schema: 'https://a.example', type: 'array' } },
      required: ['result'],
    });
  });

  it('moves references from the root, and no others', () => {
    const items = { anyOf: [{ $ref: '#' }, { $ref: '#/$defs/a' }, { $ref: '#name' }, { $ref: 'b.json#/c' }] };
    expect(resultOf({ items })).toEqual({
      items: {
        anyOf: [
          { $ref: '#/properties/result' },
          { $ref: '#/properties/result/$defs/a' },
          { $ref: '#name' },
          { $ref: 'b.json#/c' },
        ],
      },
    });
  });

  it('leaves data, and schemas with a base of their own', () => {
    const schema = { const: { $ref: '#' }, items: { $id: 'https://a.example/b', $ref: '#' } };
    expect(resultOf(schema)).toEqual(schema);
  });

  it('takes the names of properties for no keywords', () => {
    expect(resultOf({ $defs: { default: { $ref: '#' }, $id: { type: 'string' } } })).toEqual({
      $defs: { default: { $ref: '#/properties/result' }, $id: { type: 'string' } },
    });
  });

  it('writes boolean schemas as objects', () => {
    expect([true, false].map(resultOf)).toEqual([{}, { not: {} }]);
  });
});
