import { describe, expect, it } from '@jest/globals';
import { validatePolicySet } from './validate.ts';

function namesIn(policy: string, entities: unknown[] = []): unknown {
  const result = validatePolicySet({ policies: [policy], entitiesJson: JSON.stringify(entities) });
  return result.ok
    ? result.set.names.map(({ type, id, isOriginal }) => (isOriginal ? [type, id, 'original'] : [type, id]))
    : result.problems;
}

const when = (condition: string) => `permit(principal, action, resource) when { ${condition} };`;

describe('findNamedResources', () => {
  it.each([
    ['permit(principal, action, resource == Tool::"a");', [['Tool', 'a']]],
    ['permit(principal, action, resource in Prompt::"a");', [['Prompt', 'a']]],
    ['permit(principal, action, resource is Resource in Backend::"b");', [['Backend', 'b']]],
    [
      when('resource == Tool::"a" || resource in [Tool::"b", Tool::"c"] || resource == Resource::"file:///d"'),
      [
        ['Tool', 'a'],
        ['Tool', 'b'],
        ['Tool', 'c'],
        ['Resource', 'file:///d'],
      ],
    ],
    [
      when('resource.name == "a" || "b" == resource.name || resource.original_name == "c"'),
      [
        [undefined, 'a'],
        [undefined, 'b'],
        [undefined, 'c', 'original'],
      ],
    ],
    [
      when('resource.name != "a" && ["b", "c"].contains(resource.name) && resource.backend == "d"'),
      [
        [undefined, 'a'],
        [undefined, 'b'],
        [undefined, 'c'],
        ['Backend', 'd'],
      ],
    ],
    [
      when('"a" != resource.backend || ["b", "c"].contains(resource.backend)'),
      [
        ['Backend', 'a'],
        ['Backend', 'b'],
        ['Backend', 'c'],
      ],
    ],
    [when('principal in Group::"a" && resource.name like "a*"'), []],
  ])('finds the names in %s', (policy, names) => {
    expect(namesIn(policy)).toEqual(names);
  });

  it('skips a tool that is the parent of other tools, and finds its members', () => {
    const entities = [{ uid: { type: 'Tool', id: 'a' }, attrs: {}, parents: [{ type: 'Tool', id: 'all' }] }];
    expect(namesIn('permit(principal, action, resource in Tool::"all");', entities)).toEqual([['Tool', 'a']]);
  });

  it('returns the policy that contains the name', () => {
    const result = validatePolicySet({ policies: ['@id("x") forbid(principal, action, resource == Tool::"a");'] });
    expect(result.ok && result.set.names).toEqual([{ type: 'Tool', id: 'a', policy: 'policy "x"' }]);
  });
});
