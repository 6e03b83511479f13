import { describe, expect, it } from '@jest/globals';
import type { Mentions } from './mentions.ts';
import { validatePolicySet } from './validate.ts';

function mentionsOf(policy: string, entities: unknown[] = []): Mentions {
  const result = validatePolicySet({ policies: [policy], entitiesJson: JSON.stringify(entities) });
  if (!result.ok) throw new Error(result.problems.join('\n'));
  return result.set.mentions;
}
const when = (condition: string) => mentionsOf(`permit(principal, action, resource) when { ${condition} };`);

describe('findMentions', () => {
  it('returns nothing for a policy without conditions', () => {
    const nothing = { claims: [], args: [], resourceAttributes: [], wholeContext: false, principal: false };
    expect(mentionsOf('permit(principal, action, resource);')).toMatchObject(nothing);
    expect(
      mentionsOf('permit(principal is Client, action == Action::"call_tool", resource in Backend::"b");'),
    ).toMatchObject(nothing);
  });

  it('returns each attribute that is read or tested, once, in order', () => {
    const read = when(
      'context.arg_b == "x" && context has arg_a && principal.claim_z == context.claim_y && resource.name like "a" && resource.readOnlyHint && context.arg_b like "y"',
    );
    expect(read).toMatchObject({
      args: ['a', 'b'],
      claims: ['y', 'z'],
      resourceAttributes: ['name', 'readOnlyHint'],
      wholeContext: false,
      principal: false,
    });
  });

  it('returns the whole context if it is used as a record', () => {
    expect(when('context == {arg_x: 1}').wholeContext).toBe(true);
    expect(when('[context].contains(context) && true').wholeContext).toBe(true);
  });

  it.each([
    'principal == Client::"a"',
    'principal in Group::"g"',
    '[principal].contains(principal)',
    'Client::"a" in Group::"g"',
    'Client::"a".claim_x == "y"',
    '(if resource.readOnlyHint then principal else principal).claim_x == "y"',
  ])('returns the principal for %s', (condition) => {
    expect(when(condition).principal).toBe(true);
  });

  it.each(['principal == Client::"a"', 'principal in Group::"g"', 'principal is Client in Group::"g"'])(
    'returns the principal for the scope %s',
    (scope) => {
      expect(mentionsOf(`permit(${scope}, action, resource);`).principal).toBe(true);
    },
  );

  it("returns the principal if the user's entities lead to one", () => {
    const policy = 'permit(principal, action, resource in Group::"g");';
    const tool = { uid: { type: 'Tool', id: 't' }, parents: [{ type: 'Group', id: 'g' }] };
    const owned = { ...tool, parents: [{ type: 'Client', id: 'a' }] };
    expect(mentionsOf(policy, [tool]).principal).toBe(false);
    expect(mentionsOf(policy, [owned]).principal).toBe(true);
    expect(
      mentionsOf(policy, [{ ...tool, attrs: { owners: [{ __entity: { type: 'Client', id: 'a' } }] } }]).principal,
    ).toBe(true);
  });
});
