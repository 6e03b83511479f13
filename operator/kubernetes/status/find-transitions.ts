import type { Condition } from '#crds/parts/conditions';

/** A condition that changed, as an Event tells it. */
export interface Transition {
  condition: Pick<Condition, 'type' | 'status' | 'reason'>;
  type: 'Normal' | 'Warning';
  message: string;
  /** It may pass by itself, as what comes later in the same file: it is news when it has lasted. */
  mayPass: boolean;
}

/** Conditions that are good news when they are true; every other one warns then. */
const GOOD = new Set(['Ready', 'BackendsResolved']);
/** Why a resource is not ready that somebody wants so. */
const WANTED = new Set(['ScaledToZero', 'NoPods', 'Suspended']);
/** Why a resource is not ready whose pods are on their way. */
const ON_THEIR_WAY = new Set(['PodsNotMade', 'PodsNotReady', 'RuntimeNotReady', 'BackendsNotListed']);

const isTrue = ({ status }: Condition) => status === 'True';

/** What served and does not any more warns, unless its pods are being replaced. */
function isGood(condition: Condition, former: Condition | undefined, after: readonly Condition[]): boolean {
  const { type, reason } = condition;
  // A rotation is waited for.
  if (type === 'OldSecrets') return true;
  const served = former !== undefined && isTrue(former);
  if (reason === 'SomeBackendsNotReady') return !served;
  if (type !== 'Ready' || isTrue(condition)) return GOOD.has(type) === isTrue(condition);
  const replaced = after.some((one) => one.type === 'Reconciling' && isTrue(one));
  return WANTED.has(reason) || (ON_THEIR_WAY.has(reason) && (!served || replaced));
}

/** Every edit is on its way for a moment, and that is no news; that it does not get there is. Ready tells of backends as well. */
const isNews = ({ type, reason }: Condition) =>
  type !== 'AllBackendsReady' && (type !== 'Reconciling' || reason === 'RolloutHangs');

const isSame = (a: Transition, b: Transition) => a.message === b.message && a.type === b.type;

/** What changed from one list of conditions to the next: another status, or another reason for the same one; each thing once. */
export function findTransitions(
  before: readonly Condition[] | undefined = [],
  after: readonly Condition[] | undefined = [],
): Transition[] {
  const stalled = after.find((one) => one.type === 'Stalled' && isTrue(one));
  const all = after.filter(isNews).flatMap((condition): Transition[] => {
    const { type, status, reason, message } = condition;
    const former = before.find((one) => one.type === type);
    if (former?.status === status && former.reason === reason) return [];
    const good = isGood(condition, former, after);
    const mayPass = !good && stalled?.reason !== reason;
    return [{ condition: { type, status, reason }, type: good ? 'Normal' : 'Warning', message, mayPass }];
  });
  return all.filter((one, index) => all.findIndex((other) => isSame(one, other)) === index);
}
