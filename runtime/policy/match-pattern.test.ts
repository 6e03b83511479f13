import { isAuthorized, policyToJson, type PatternElem } from '@cedar-policy/cedar-wasm/nodejs';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { viewExpression } from '#crds/policy/expression';
import { createPatternMatcher } from './match-pattern.ts';

const pieces = fc.constantFrom('a', 'b', 'ab', 'é', '𝒳', '\\*', '*', '*', '*');
const texts = fc.array(fc.constantFrom('a', 'b', 'ab', 'é', 'e\u0301', '𝒳', '*'), { maxLength: 6 });

function patternOf(text: string): readonly PatternElem[] {
  const parsed = policyToJson(text);
  if (parsed.type === 'failure') throw new Error(parsed.errors[0]?.message);
  const [condition] = parsed.json.conditions;
  const head = condition && viewExpression(condition.body).head;
  if (head?.kind !== 'like') throw new Error('the condition has no pattern');
  return head.pattern;
}

function cedarMatches(policy: string, name: string): boolean {
  const uid = (type: string, id: string) => ({ type, id });
  const answer = isAuthorized({
    principal: uid('Client', 'a'),
    action: uid('Action', 'call_tool'),
    resource: uid('Tool', 't'),
    context: { name },
    policies: { staticPolicies: { policy } },
    entities: [],
  });
  return answer.type === 'success' && answer.response.decision === 'allow';
}

describe('createPatternMatcher', () => {
  it('matches the same texts as Cedar', () => {
    fc.assert(
      fc.property(
        fc.array(pieces, { maxLength: 6 }),
        fc.array(texts, { minLength: 8, maxLength: 8 }),
        (parts, names) => {
          const policy = `permit(principal, action, resource) when { context.name like "${parts.join('')}" };`;
          const matches = createPatternMatcher(patternOf(policy));
          for (const name of names.map((each) => each.join(''))) {
            expect({ policy, name, matches: matches(name) }).toEqual({
              policy,
              name,
              matches: cedarMatches(policy, name),
            });
          }
        },
      ),
      { seed: 7_304, numRuns: 300 },
    );
  });
});
