import { isAuthorized, policyToJson, type Policy } from '@cedar-policy/cedar-wasm/nodejs';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { normalisePolicy } from './normalise-policy.ts';

function decide(policy: Policy): unknown {
  const answer = isAuthorized({
    principal: { type: 'Client', id: 'a' },
    action: { type: 'Action', id: 'call_tool' },
    resource: { type: 'Tool', id: 't' },
    context: { yes: true, no: false, number: 1 },
    policies: { staticPolicies: { policy } },
    entities: [],
  });
  if (answer.type === 'failure') throw new Error(answer.errors[0]?.message);
  const { decision, diagnostics } = answer.response;
  return { decision, errors: diagnostics.errors.map(({ error }) => error.message) };
}

describe('normalisePolicy', () => {
  const atom = fc.constantFrom('context.yes', 'context.no', 'context.absent', 'context.number', 'context.number == 1');
  const { expression } = fc.letrec<{ expression: string }>((tie) => ({
    expression: fc.oneof(
      { maxDepth: 4, withCrossShrink: true },
      atom,
      fc
        .tuple(fc.constantFrom(' && ', ' || '), fc.array(tie('expression'), { minLength: 2, maxLength: 6 }))
        .map(([operator, links]) => `(${links.join(operator)})`),
      tie('expression').map((inner) => `!(${inner})`),
    ),
  }));

  it('keeps the decisions and errors of the original policy', () => {
    fc.assert(
      fc.property(expression, (condition) => {
        const text = `permit(principal, action, resource) when { ${condition} };`;
        const parsed = policyToJson(text);
        if (parsed.type === 'failure') throw new Error('does not parse');
        const normalised = normalisePolicy(parsed.json);
        if (typeof normalised === 'string') throw new Error(normalised);
        expect(decide(normalised)).toEqual(decide(text));
      }),
      { seed: 20_251, numRuns: 150 },
    );
  });
});
