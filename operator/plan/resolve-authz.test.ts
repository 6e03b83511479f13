import { describe, expect, it } from '@jest/globals';
import { emptySnapshot } from '#operator/testdata/empty-snapshot';
import type { LocalFacts } from '#operator/snapshot';
import { verdictOf } from './resolve-authz.ts';

const LOCAL: LocalFacts = {
  mode: 'local',
  directory: '/x',
  ports: {},
  backendPorts: {},
  uids: {},
  loginDirectory: '/x/logins',
};
const texts = (policy: string) => ({ policies: [policy], entitiesJson: '[]' });

describe('verdictOf', () => {
  it('validates the same set once per snapshot', () => {
    const [snapshot, other] = [emptySnapshot({ platform: LOCAL }), emptySnapshot({ platform: LOCAL })];
    const verdict = verdictOf(texts('permit(principal, action, resource);'), snapshot);
    expect(verdictOf(texts('permit(principal, action, resource);'), snapshot)).toBe(verdict);
    expect(verdictOf(texts('permit(principal, action, resource);'), other)).not.toBe(verdict);
  });

  it('keeps the verdicts on different sets apart', () => {
    const snapshot = emptySnapshot({ platform: LOCAL });
    expect(verdictOf(texts('permit(principal, action, resource);'), snapshot).problems).toEqual([]);
    expect(verdictOf(texts('permit(principal, action, resource)'), snapshot).problems).toHaveLength(1);
  });
});
