import { describe, expect, it } from '@jest/globals';
import { z } from 'zod';
import { checkStructural, isRe2 } from '#crds/generate/check-structural';
import type { SchemaNode } from '#crds/generate/schema-node';
import { jsonSchemaOf, structuralSchema } from '#crds/generate/structural';

const root = (spec: SchemaNode): SchemaNode => ({ type: 'object', properties: { spec } });

describe('checkStructural and isRe2', () => {
  it.each<[string, SchemaNode, string]>([
    ['look-ahead', { type: 'string', maxLength: 5, pattern: '^(?!a)' }, 'a pattern that is not RE2'],
    ['look-behind', { type: 'string', maxLength: 5, pattern: '(?<=a)b' }, 'a pattern that is not RE2'],
    ['a back reference', { type: 'string', maxLength: 5, pattern: '(a)\\1' }, 'a pattern that is not RE2'],
    ['a long repeat', { type: 'string', maxLength: 5, pattern: 'a{1,1001}' }, 'a pattern that is not RE2'],
    ['propertyNames', { type: 'object', propertyNames: { type: 'string' } }, 'propertyNames'],
    ['const', { type: 'string', const: 'a', maxLength: 1 }, 'const; write an enum of one'],
    ['oneOf with types', { type: 'object', oneOf: [{ type: 'object' }] }, 'oneOf; write a flat union'],
    ['anyOf with types', { type: 'object', anyOf: [{ type: 'object' }] }, 'anyOf; write a flat union'],
    ['allOf', { type: 'string', maxLength: 1, allOf: [{ type: 'string', maxLength: 1 }] }, 'allOf; write one pattern'],
    ['no type', {}, 'no type'],
    ['additionalProperties: false', { type: 'object', additionalProperties: false }, 'additionalProperties: false'],
    ['an endless text', { type: 'string' }, 'no maximum'],
    ['an endless list', { type: 'array', items: { type: 'integer' } }, 'no maximum'],
    ['an endless map', { type: 'object', additionalProperties: { type: 'integer' } }, 'no maximum'],
    [
      'look-ahead in a rule',
      { type: 'string', maxLength: 5, 'x-kubernetes-validations': [{ rule: "self.matches('(?=a)')", message: 'a' }] },
      'a rule that is not RE2',
    ],
    [
      'a rule about a field that there is not',
      { type: 'object', 'x-kubernetes-validations': [{ rule: 'true', message: 'a', fieldPath: '.b' }] },
      'no field .b to report a rule at',
    ],
  ])('reject %s', (_, spec, problem) => {
    expect(() => checkStructural('Kind', root(spec))).toThrow(`Kind spec: ${problem}`);
  });

  it.each(['^[a-z]{1,63}$', '\\.', '[^\\s/]+', '(?:a|b)'])('accept the RE2 pattern %s', (pattern) => {
    expect(isRe2(pattern)).toBe(true);
  });
});

describe('structuralSchema', () => {
  const kind = z.strictObject({
    apiVersion: z.string(),
    kind: z.literal('A'),
    metadata: z.looseObject({}),
    spec: z.strictObject({
      size: z.int().min(1).max(9).default(1),
      inner: z.strictObject({ on: z.boolean().default(true) }).prefault({}),
    }),
    status: z.object({ phase: z.enum(['x']) }).optional(),
  });

  it('omits additionalProperties, and writes out the defaults inside a default', () => {
    expect(structuralSchema(kind).properties?.spec).toEqual({
      type: 'object',
      properties: {
        size: { type: 'integer', format: 'int64', minimum: 1, maximum: 9, default: 1 },
        inner: {
          type: 'object',
          default: { on: true },
          properties: { on: { type: 'boolean', default: true } },
          'x-kubernetes-preserve-unknown-fields': true,
        },
      },
      'x-kubernetes-preserve-unknown-fields': true,
    });
  });

  it('omits defaults within lists, where kubectl would find a difference at each apply', () => {
    const list = z.object({
      spec: z.strictObject({ entries: z.array(z.strictObject({ on: z.boolean().default(true) })) }),
    });
    expect(structuralSchema(list).properties?.spec?.properties?.entries?.items?.properties).toEqual({
      on: { type: 'boolean' },
    });
  });

  it('describes the input, in which defaults may be missing', () => {
    expect(jsonSchemaOf(kind).properties?.spec?.required).toBeUndefined();
  });
});
