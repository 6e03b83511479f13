import { describe, expect, it } from '@jest/globals';
import { validatePolicySet } from '#crds/policy/validate';
import type { PolicyValue } from './normalise-value.ts';
import { createValueClassifiers } from './value-class.ts';

function classesOf(condition: string, values: readonly (PolicyValue | undefined)[]): number {
  const policies = [`permit(principal, action, resource) when { ${condition} };`];
  const validated = validatePolicySet({ policies, entitiesJson: '[]' });
  if (!validated.ok) throw new Error(validated.problems.join());
  const [classify] = createValueClassifiers(validated.set.policies, ['principal', 'context'], ['claim_a']);
  return new Set(values.map((value) => JSON.stringify([classify?.(value)]))).size;
}

describe('createValueClassifiers', () => {
  it('joins strings for which each comparison has the same outcome', () => {
    expect(classesOf('principal.claim_a == "x"', ['x', 'y', 'z', ''])).toBe(2);
    expect(classesOf('["x", "y"].contains(context.claim_a)', ['x', 'y', 'z', ''])).toBe(3);
    expect(classesOf('principal.claim_a like "x*"', ['x1', 'x2', 'y1', 'y2'])).toBe(2);
  });

  it('joins numbers between the same literals', () => {
    expect(classesOf('principal.claim_a > 5', [3, 4, 5, 6, 7])).toBe(3);
    expect(classesOf('principal.claim_a > 5 && context.claim_a <= 9', [3, 4, 5, 6, 8, 9, 10])).toBe(5);
  });

  it('joins sets with the same literals, and separates sets with other elements besides', () => {
    const sets = [[], ['x'], ['x', 'x'], ['x', 'z'], ['other', 'x'], ['z'], ['other']];
    expect(classesOf('principal.claim_a.contains("x")', sets)).toBe(4);
    expect(classesOf('["x", "z"].containsAll(principal.claim_a)', sets)).toBe(6);
  });

  it('separates values of different types', () => {
    const values = ['1', 1, true, ['1'], [1], { unreadable: 'claim_a' }, undefined];
    expect(classesOf('principal.claim_a == "x"', values)).toBe(6);
    expect(classesOf('principal.claim_a.contains(1)', values)).toBe(7);
  });

  it.each([
    'principal.claim_a == context.arg_a',
    'principal.claim_a == principal.claim_b',
    'principal.claim_a == "x" && principal.claim_a == context.arg_a',
    '(if context.arg_b then principal.claim_a else "x") == "y"',
    'resource.name == principal.claim_a',
    'Client::"a".claim_a == "x"',
  ])('separates all values in %s', (condition) => {
    expect(classesOf(condition, ['x', 'y', 'z', ''])).toBe(4);
  });
});
