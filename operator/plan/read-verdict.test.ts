import { describe, expect, it } from '@jest/globals';
import { emptyWorld } from '#operator/testdata/empty-world';
import type { LocalFacts } from '#operator/world';
import { verdictOf } from './read-verdict.ts';

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
  it('validates the same set once per world', () => {
    const [world, other] = [emptyWorld({ platform: LOCAL }), emptyWorld({ platform: LOCAL })];
    const verdict = verdictOf(texts('permit(principal, action, resource);'), world);
    expect(verdictOf(texts('permit(principal, action, resource);'), world)).toBe(verdict);
    expect(verdictOf(texts('permit(principal, action, resource);'), other)).not.toBe(verdict);
  });

  it('keeps the verdicts on different sets apart', () => {
    const world = emptyWorld({ platform: LOCAL });
    expect(verdictOf(texts('permit(principal, action, resource);'), world).problems).toEqual([]);
    expect(verdictOf(texts('permit(principal, action, resource)'), world).problems).toHaveLength(1);
  });
});
