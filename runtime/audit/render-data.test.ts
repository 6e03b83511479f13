import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { renderData } from './render-data.ts';

describe('renderValue', () => {
  it('renders JSON within the byte limit and marks cut data', () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.integer({ min: 2, max: 200 }), (value, budget) => {
        const { json, cut } = renderData(value, budget);
        expect(Buffer.byteLength(json)).toBeLessThanOrEqual(budget);
        const read: unknown = JSON.parse(json);
        if (cut) expect(typeof read).toBe('string');
        else expect(json).toBe(renderData(value, 1_000_000).json);
      }),
    );
  });

  it('returns the value itself if it is small and contains no secret', () => {
    const harmless = fc.letrec((tie) => ({
      value: fc.oneof(
        fc.integer(),
        fc.boolean(),
        fc.constant(null),
        fc.stringMatching(/^[a-z ]{0,20}$/),
        tie('list'),
        tie('map'),
      ),
      list: fc.array(tie('value'), { maxLength: 4 }),
      map: fc.dictionary(fc.stringMatching(/^x[0-9]{1,3}$/), tie('value'), { maxKeys: 4 }),
    })).value;
    fc.assert(
      fc.property(harmless, (value) => {
        expect(JSON.parse(renderData({ value }, 1_000_000).json)).toEqual({ value });
      }),
    );
  });

  it('cuts between characters, never inside one', () => {
    for (let budget = 2; budget < 40; budget++) {
      expect(JSON.parse(renderData({ text: '😀'.repeat(20) }, budget).json)).not.toMatch(
        /[\ud800-\udbff](?![\udc00-\udfff])/,
      );
    }
  });
});
