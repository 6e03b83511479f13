import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { identityOf, load, plainly, questions, sources } from './testdata/policy-questions.ts';

describe('a remembered decision', () => {
  it('is the one that Cedar makes, and whatever is allowed is visible', () => {
    fc.assert(
      fc.property(sources, questions, fc.constantFrom(4, 1_000), (source, asked, cacheSize) => {
        const { texts } = source;
        const authorizer = load(source, cacheSize);
        for (const each of [...asked, ...asked]) {
          const { allowed } = authorizer.decide(identityOf(each), each.action, each.resource, each.args);
          expect({ texts, each, allowed }).toEqual({ texts, each, allowed: plainly(source, each) });
          if (allowed) expect(authorizer.visible(identityOf(each), each.action, each.resource)).toBe(true);
        }
      }),
      { seed: 7_301, numRuns: 40 },
    );
  });
});
