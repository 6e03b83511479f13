import { describe, expect, it } from '@jest/globals';
import { identityOf, load } from './testdata/plain-decisions.ts';
import type { PolicySource, Question } from './testdata/policy-questions.ts';

const TOOLS = 2_000;

/** Policies of the usual kinds: groups, claims, single tools, names, hints, arguments, backends. */
const POLICIES = [
  'permit(principal in Group::"engineering", action, resource in Backend::"b0");',
  'permit(principal, action, resource == Tool::"b1_tool_7");',
  'permit(principal in Group::"admins", action, resource);',
  'permit(principal, action, resource in Backend::"b1") when { principal.claim_department == "finance" };',
  'permit(principal, action, resource) when { resource.name like "*_read_*" && resource.readOnlyHint };',
  'forbid(principal, action, resource) when { ["b0_tool_1", "b0_tool_2"].contains(resource.name) };',
  'forbid(principal, action, resource == Tool::"b0_tool_3") unless { principal in Group::"admins" };',
  'forbid(principal, action, resource) when { resource.original_name == "tool_4" };',
  'forbid(principal, action, resource in Backend::"b0") when { context has arg_count && context.arg_count > 100 };',
  'forbid(principal == Client::"mallory", action, resource);',
];

function countEvaluations(texts: string[]): { readonly list: (subject: string) => number; readonly shown: string[] } {
  let evaluations = 0;
  const source: PolicySource = { texts, entities: [] };
  const lookedUp = (remembered: boolean) => {
    if (!remembered) evaluations++;
  };
  const authorizer = load(source, { metrics: { lookedUp } });
  const resources = Array.from({ length: TOOLS }, (_, index) => {
    const [backend, originalName] = [`b${index % 4}`, index % 3 === 0 ? `read_${index}` : `tool_${index}`];
    return {
      name: `${backend}_${originalName}`,
      backend,
      originalName,
      annotations: { readOnlyHint: index % 2 === 0 },
    };
  });
  const shown: string[] = [];
  const list = (subject: string): number => {
    const asked: Omit<Question, 'resource'> = {
      subject,
      groups: ['engineering'],
      claims: { department: 'finance' },
      action: 'call_tool',
      args: {},
    };
    evaluations = 0;
    for (const resource of resources) {
      if (authorizer.visible(identityOf({ ...asked, resource }), 'call_tool', resource)) shown.push(resource.name);
    }
    return evaluations;
  };
  return { list, shown };
}

describe('classes of resources', () => {
  it('limit 2,000 tools under ten policies to 50 evaluations for each principal', () => {
    const { list, shown } = countEvaluations(POLICIES);
    expect(list('alice')).toBeLessThanOrEqual(50);
    expect(new Set(shown).size).toBeGreaterThan(TOOLS / 2);
    expect(new Set(shown).size).toBeLessThan(TOOLS);
    const before = shown.length;
    expect(list('alice')).toBe(0);
    expect(shown.length).toBe(2 * before);
    expect(list('bob')).toBeLessThanOrEqual(50);
  });

  it('contain one tool each if policies compare the whole name with a claim', () => {
    const { list } = countEvaluations([
      'permit(principal, action, resource) when { resource.name == principal.claim_department };',
    ]);
    expect(list('alice')).toBe(TOOLS);
  });
});
