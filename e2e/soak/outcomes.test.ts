import { describe, expect, it } from '@jest/globals';
import { ANY, GRACE_MS, LONGEST_MS, Outcomes } from './outcomes.ts';

const fail = (outcomes: Outcomes, member: string, began: number, ended: number, problem = 'did not answer in time') =>
  outcomes.note({ member, kind: 'echo', began, ended }, problem);

describe('Outcomes', () => {
  it('explains a failure that overlaps an outage of its member or the grace after it', () => {
    const outcomes = new Outcomes();
    outcomes.beginOutage('one', 1_000)(2_000);
    fail(outcomes, 'one', 900, 1_000);
    fail(outcomes, 'one', 1_500, 1_600);
    fail(outcomes, 'one', 2_000 + GRACE_MS, 9_000);
    expect(outcomes.unexplained()).toEqual([]);
    expect(outcomes.explained).toBe(3);
  });

  it('does not explain a failure of another member, before the outage or after the grace', () => {
    const outcomes = new Outcomes();
    outcomes.beginOutage('one', 1_000)(2_000);
    fail(outcomes, 'two', 1_500, 1_600);
    fail(outcomes, 'one', 800, 999);
    fail(outcomes, 'one', 2_001 + GRACE_MS, 9_000);
    expect(outcomes.unexplained()).toHaveLength(3);
  });

  it('does not explain a failure of a call that ran for long before the outage', () => {
    const outcomes = new Outcomes();
    outcomes.beginOutage(ANY, 50_000)(50_000);
    fail(outcomes, 'one', 50_000 - LONGEST_MS, 60_000);
    fail(outcomes, 'one', 49_999 - LONGEST_MS, 60_000);
    expect(outcomes.unexplained()).toHaveLength(1);
  });

  it('explains the end of a long call that the outage cut', () => {
    const outcomes = new Outcomes();
    outcomes.beginOutage('one', 50_000)(53_000);
    fail(outcomes, 'one', 20_000, 50_001, 'closed the connection');
    fail(outcomes, 'one', 20_000, 53_001 + GRACE_MS, 'closed the connection');
    fail(outcomes, 'one', 20_000, 49_999, 'closed the connection');
    expect(outcomes.unexplained()).toHaveLength(2);
  });

  it('explains failures of all members by an outage of any', () => {
    const outcomes = new Outcomes();
    outcomes.beginOutage(ANY, 1_000);
    fail(outcomes, 'one', 5_000, 6_000);
    expect(outcomes.unexplained()).toEqual([]);
  });

  it('counts calls by member', async () => {
    const outcomes = new Outcomes();
    await outcomes.record('one', 'echo', () => Promise.resolve());
    await outcomes.record('one', 'echo', () => Promise.reject(new Error('reset')));
    expect([outcomes.calls('one'), outcomes.total]).toEqual([2, 2]);
    expect(outcomes.unexplained()).toMatchObject([{ problem: 'reset' }]);
  });
});
