import { describe, expect, it } from '@jest/globals';
import { validatePolicySet } from '#crds/policy/validate';
import { describeUnknownBackends, describeUnknownPolicyNames, type NamesOf } from './unknown-policy-names.ts';

const LISTS: Record<string, string[]> = {
  tools: ['close', 'open'],
  prompts: ['greet'],
  resources: ['file:///a'],
  templates: ['file:///logs/{day}'],
};
const listed: NamesOf = (kind) => LISTS[kind];
const tell = (type: string | undefined, ids: string[], namesOf = listed) =>
  describeUnknownPolicyNames(
    'authzConfig of pol',
    ids.map((id) => ({ type, id, policy: 'policies[0]' })),
    namesOf,
  );

describe('describeUnknownPolicyNames', () => {
  it.each([
    ['Tool', 'clsoe', 'tool', ' (did you mean "close"?)'],
    ['Prompt', 'great', 'prompt', ' (did you mean "greet"?)'],
    ['Resource', 'file:///b', 'resource', ' (did you mean "file:///a"?)'],
    ['Tool', 'greet', 'tool', ''],
    ['Tool', 'filesystem_close', 'tool', ' (did you mean "close"?)'],
    ['Tool', 'filesystem_disclose', 'tool', ''],
    [undefined, 'opne', 'tool, prompt or resource', ' (did you mean "open"?)'],
  ])('names the nearest of a %s %s that no list has', (type, id, noun, meant) => {
    expect(tell(type, [id])).toEqual([
      `authzConfig of pol names no ${noun} that is listed: "${id}" in policies[0]${meant}; correct or remove it`,
    ]);
  });

  it('compares original names with those of the backends', () => {
    const namesOf: NamesOf = (kind, isOriginal) => (isOriginal && kind === 'tools' ? ['shut'] : LISTS[kind]);
    const named = ['close', 'shutt'].map((id) => ({ type: undefined, id, isOriginal: true, policy: 'policies[0]' }));
    expect(describeUnknownPolicyNames('authzConfig of pol', named, namesOf)).toEqual([
      'authzConfig of pol names no original name of a tool, prompt or resource that is listed: "close" in policies[0], ' +
        '"shutt" in policies[0] (did you mean "shut"?); correct or remove it',
    ]);
  });

  it('accepts listed names and URIs of templates', () => {
    expect(tell('Tool', ['close', 'open'])).toEqual([]);
    expect(tell('Resource', ['file:///a', 'file:///logs/monday'])).toEqual([]);
    expect(tell(undefined, ['close', 'greet', 'file:///a', 'file:///logs/1'])).toEqual([]);
  });

  it('names the tool with its prefix', () => {
    expect(tell('Tool', ['close'], () => ['filesystem_close']).join()).toContain('(did you mean "filesystem_close"?)');
  });

  it('reports nothing while a list is unknown', () => {
    expect(tell('Tool', ['clsoe'], () => undefined)).toEqual([]);
    const withoutTemplates: NamesOf = (kind) => (kind === 'templates' ? undefined : LISTS[kind]);
    expect(tell('Resource', ['file:///b'], withoutTemplates)).toEqual([]);
    expect(tell('Tool', ['clsoe'], withoutTemplates)).toHaveLength(1);
  });

  it('reports the number of further names', () => {
    const many = Array.from({ length: 8 }, (_, at) => `missing-${at}`);
    expect(tell('Tool', many).join()).toMatch(/"missing-4" in policies\[0\] and 3 more; correct or remove it$/);
  });
});

describe('describeUnknownBackends', () => {
  const namesIn = (policy: string) => {
    const read = validatePolicySet({ policies: [policy] });
    return read.ok ? read.set.names : [];
  };
  const tell = (policy: string) => describeUnknownBackends('authzConfig', namesIn(policy), ['github', 'files']);

  it.each([
    'forbid(principal, action, resource in Backend::"gihtub");',
    'permit(principal, action, resource) when { resource in Backend::"gihtub" };',
  ])('names the nearest backend in %s', (policy) => {
    expect(tell(policy)).toEqual([
      'authzConfig names no backend of this endpoint: "gihtub" in policies[0] (did you mean "github"?); correct the name, unless the backend is left out for now',
    ]);
  });

  it('accepts the backends of the endpoint', () => {
    expect(tell('forbid(principal, action, resource in Backend::"files");')).toEqual([]);
  });
});
