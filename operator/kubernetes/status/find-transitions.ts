import type { Condition } from '#crds/parts/conditions';

/** A condition that changed, as an Event tells it. */
export interface Transition {
  type: 'Normal' | 'Warning';
  reason: string;
  message: string;
}

/** Conditions that are good news when they are true; every other one warns then. */
const GOOD = new Set(['Ready', 'BackendsResolved']);

const isGood = ({ type, status }: Condition) => GOOD.has(type) === (status === 'True');

/** What changed from one list of conditions to the next: another status, or another reason for the same one. */
export function findTransitions(
  before: readonly Condition[] | undefined,
  after: readonly Condition[] | undefined,
): Transition[] {
  return (after ?? []).flatMap((condition) => {
    const former = before?.find(({ type }) => type === condition.type);
    const same = former?.status === condition.status && former.reason === condition.reason;
    // Every edit is on its way for a moment.
    if (same || condition.type === 'Reconciling') return [];
    return [{ type: isGood(condition) ? 'Normal' : 'Warning', reason: condition.reason, message: condition.message }];
  });
}
