import { describe, expect, it } from '@jest/globals';
import type { Identity } from '#runtime/incoming/identity';
import type { Authorizer, Decision } from './authorizer.ts';
import { combineAuthorizers } from './combine-authorizers.ts';

const identity: Identity = {
  issuer: '',
  subject: 'a',
  clientId: undefined,
  scopes: [],
  groups: [],
  claims: {},
  key: 'a',
  token: undefined,
  expiresAt: Infinity,
};
const tool = { name: 't', backend: 'b', originalName: 't' };

function answering(id: string, decision: Partial<Decision>, more: Partial<Authorizer> = {}): Authorizer {
  const full = { allowed: true, wouldDeny: false, policies: [{ id }], ...decision };
  return { id, readsArguments: false, decide: () => full, visible: () => full.allowed, ...more };
}
const decide = (a: Authorizer, b: Authorizer) => combineAuthorizers(a, b).decide(identity, 'call_tool', tool, {});

describe('two policy sets over one backend', () => {
  it('must both allow', () => {
    const yes = answering('yes', {});
    const no = answering('no', { allowed: false });
    expect(decide(yes, yes)).toEqual({ allowed: true, wouldDeny: false, policies: [{ id: 'yes' }, { id: 'yes' }] });
    expect(decide(yes, no)).toEqual({ allowed: false, wouldDeny: false, policies: [{ id: 'no' }] });
    expect(decide(no, yes)).toEqual({ allowed: false, wouldDeny: false, policies: [{ id: 'no' }] });
    expect([yes, no].map((other) => combineAuthorizers(yes, other).visible(identity, 'call_tool', tool))).toEqual([
      true,
      false,
    ]);
    expect(combineAuthorizers(no, yes).visible(identity, 'call_tool', tool)).toBe(false);
  });

  it('tell what would have been denied by either', () => {
    const yes = answering('yes', {});
    const audited = answering('audited', { wouldDeny: true });
    const denied = { allowed: true, wouldDeny: true, policies: [{ id: 'audited' }] };
    expect(decide(yes, audited)).toEqual(denied);
    expect(decide(audited, yes)).toEqual(denied);
    expect(decide(audited, answering('no', { allowed: false }))).toMatchObject({
      allowed: false,
      policies: [{ id: 'no' }],
    });
  });

  it('read arguments when one does, and have an id of both', () => {
    const reading = answering('r', {}, { readsArguments: true });
    expect(combineAuthorizers(answering('a', {}), reading).readsArguments).toBe(true);
    expect(combineAuthorizers(answering('a', {}), answering('b', {})).readsArguments).toBe(false);
    const ids = [
      ['a', 'b"'],
      ['a"', 'b'],
      ['b', 'a'],
    ].map(([a = '', b = '']) => combineAuthorizers(answering(a, {}), answering(b, {})).id);
    expect(new Set(ids).size).toBe(3);
  });
});
