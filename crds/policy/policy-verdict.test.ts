import { describe, expect, it } from '@jest/globals';
import { readPolicies } from './policy-verdict.ts';

const readsOf = (...policies: string[]) => readPolicies({ policies }).loginReads;
const when = (condition: string) => `permit(principal, action, resource) when { ${condition} };`;

describe('findLoginReads', () => {
  it.each([
    [when('principal.claim_role == "a"'), '`claim_role`'],
    [when('context.claim_role == "a" && context has claim_team'), '`claim_role`, `claim_team`'],
    [when('principal == Client::"alice"'), '`Client::"alice"`'],
    ['permit(principal == Client::"alice", action, resource);', '`Client::"alice"`'],
  ])('reports a condition that only an authenticated caller meets: %s', (policy, named) => {
    expect(readsOf('permit(principal, action, resource);', policy)).toEqual([
      `policies[1]: asks for ${named}, which no anonymous caller has or is`,
    ]);
  });

  it.each([
    'permit(principal == Client::"anonymous", action, resource);',
    when('principal == Client::"anonymous"'),
    when('context.arg_city == "Bonn" && resource.name == "weather"'),
  ])('accepts a policy that an anonymous caller can match: %s', (policy) => {
    expect(readsOf(policy)).toEqual([]);
  });
});
