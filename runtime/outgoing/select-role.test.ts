import { describe, expect, it } from '@jest/globals';
import { BackendAuth } from '#crds/run-config/outgoing';
import { createRoleSelection, type AwsSts } from './select-role.ts';

const role = (name: string) => `arn:aws:iam::123456789012:role/${name}`;

function select(document: Omit<Partial<AwsSts>, 'type'>) {
  const auth = BackendAuth.parse({ type: 'aws_sts', region: 'eu-west-1', ...document });
  if (auth.type !== 'aws_sts') throw new TypeError('not reached');
  return createRoleSelection(auth);
}

describe('createRoleSelection', () => {
  it('selects the matching mapping with the lowest priority, then the first', () => {
    const roleOf = select({
      role_mappings: [
        { claim: 'team', matcher: 'red', role_arn: role('last') },
        { claim: 'team', matcher: 'red', role_arn: role('second'), priority: 5 },
        { claim: 'team', matcher: 'red', role_arn: role('third'), priority: 5 },
        { claim: 'team', matcher: 'blue', role_arn: role('first'), priority: 1 },
      ],
    });
    expect(roleOf({ team: 'red' })).toBe(role('second'));
    expect(roleOf({ team: ['red', 'blue'] })).toBe(role('first'));
    expect(roleOf({ team: 'green' })).toBeUndefined();
    expect(roleOf({})).toBeUndefined();
  });

  it('matches whole values, with * for any text and no other wildcard', () => {
    const roleOf = select({
      role_mappings: [
        { claim: 'email', matcher: '*@example.com', role_arn: role('example') },
        { claim: 'level', matcher: '7', role_arn: role('seven') },
        { claim: 'team', matcher: 'a.c', role_arn: role('dotted') },
      ],
    });
    expect(roleOf({ email: 'alice@example.com' })).toBe(role('example'));
    expect(roleOf({ email: 'alice@example.com.evil' })).toBeUndefined();
    expect(roleOf({ email: 'alice@exampleXcom' })).toBeUndefined();
    expect(roleOf({ level: 7 })).toBe(role('seven'));
    expect(roleOf({ team: 'abc' })).toBeUndefined();
    expect(roleOf({ team: 'a.c' })).toBe(role('dotted'));
  });

  it('compares a lone claim or matcher with the values of role_claim, by default groups', () => {
    const mappings = [
      { claim: 'admins', role_arn: role('admin') },
      { matcher: 'dev-*', role_arn: role('developer') },
    ];
    const byGroups = select({ role_mappings: mappings });
    expect(byGroups({ groups: ['dev-red'] })).toBe(role('developer'));
    expect(byGroups({ groups: ['dev-red', 'admins'] })).toBe(role('admin'));
    expect(byGroups({ roles: ['admins'], admins: true })).toBeUndefined();
    expect(select({ role_mappings: mappings, role_claim: 'roles' })({ roles: ['admins'] })).toBe(role('admin'));
  });

  it('selects a mapping without conditions for every caller', () => {
    expect(select({ role_mappings: [{ role_arn: role('everybody') }] })({})).toBe(role('everybody'));
  });

  it('selects the role that role_claim names if it is configured, else the fallback', () => {
    const roleOf = select({ role_claim: 'role', fallback_role_arn: role('fallback') });
    expect(roleOf({ role: role('named') })).toBe(role('named'));
    expect(roleOf({ role: ['admins', role('named')] })).toBe(role('named'));
    for (const claims of [{}, { role: 'admins' }, { role: 'arn:aws:iam::1:user/x' }, { toString: 'x' }])
      expect(roleOf(claims)).toBe(role('fallback'));
  });
});
