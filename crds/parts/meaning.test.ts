import { describe, expect, it } from '@jest/globals';
import { z } from 'zod';
import { described, inMilliseconds, objectLike } from './meaning.ts';
import { Duration } from './primitives.ts';

const Timeout = Duration.default('3s').describe('Longest time.');
const Resource = z.strictObject({
  readTimeout: Timeout,
  allowHTTP: z.boolean().describe('Allow http.'),
  other: z.string(),
});

describe('described', () => {
  it.each([
    ['an object', Resource],
    ['an optional object', Resource.optional()],
    ['a list', z.array(Resource).optional()],
    ['a map', z.record(z.string(), Resource)],
  ])('takes descriptions from the fields of %s by name', (_, resource) => {
    const fields = { read_timeout: z.number(), allow_http: z.boolean(), other: z.string(), more: z.string() };
    const { read_timeout: timeout, allow_http: http, other, more } = described(resource, fields);
    expect([timeout.description, http.description]).toEqual(['Longest time.', 'Allow http.']);
    expect([other, more]).toEqual([fields.other, fields.more]);
    expect(fields.read_timeout.description).toBeUndefined();
  });

  it('keeps the description of a field that has one', () => {
    const fields = described(Resource, { read_timeout: z.number().describe('Own.') });
    expect(fields.read_timeout.description).toBe('Own.');
  });
});

describe('objectLike', () => {
  it('rejects unknown fields', () => {
    const like = objectLike(Resource, { allow_http: z.boolean() });
    expect(like.safeParse({ allow_http: true }).success).toBe(true);
    expect(like.safeParse({ allow_http: true, other: 'x' }).success).toBe(false);
  });
});

describe('inMilliseconds', () => {
  it('has the default and the description of the duration', () => {
    const field = inMilliseconds(Timeout);
    expect([field.parse(undefined), field.parse('1m'), field.description]).toEqual([3_000, 60_000, 'Longest time.']);
  });
});
