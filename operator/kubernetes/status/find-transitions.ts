import type { Condition } from '#crds/parts/conditions';

export interface Transition {
  condition: Pick<Condition, 'type' | 'status' | 'reason'>;
  type: 'Normal' | 'Warning';
  message: string;
  /** It may resolve without a user, e.g. when later resources of the same file are applied. It is reported after it has lasted. */
  mayPass: boolean;
}

/** Conditions that are good when true; every other true condition is a warning. */
const GOOD = new Set(['Ready', 'BackendsResolved']);
/** Reasons of resources that are not ready by a user's choice. */
const WANTED = new Set(['ScaledToZero', 'NoPods', 'Suspended']);
/** Reasons of resources whose pods are starting. */
const ON_THEIR_WAY = new Set(['PodsNotMade', 'PodsNotReady', 'RuntimeNotReady', 'BackendsNotListed']);

const isTrue = ({ status }: Condition) => status === 'True';

/** Returns whether a transition is no warning. A resource that stops serving is a warning, unless its pods are being replaced. */
function isGood(condition: Condition, former: Condition | undefined, after: readonly Condition[]): boolean {
  const { type, reason } = condition;
  // A rotation ends by itself.
  if (type === 'OldSecrets') return true;
  const served = former !== undefined && isTrue(former);
  if (reason === 'SomeBackendsNotReady') return !served;
  if (type !== 'Ready' || isTrue(condition)) return GOOD.has(type) === isTrue(condition);
  const replaced = after.some((one) => one.type === 'Reconciling' && isTrue(one));
  return WANTED.has(reason) || (ON_THEIR_WAY.has(reason) && (!served || replaced));
}

/** Progress after an edit is not reported, but a failure to complete is. Ready also covers the backends. */
const isTransition = ({ type, reason }: Condition) =>
  type !== 'AllBackendsReady' && (type !== 'Reconciling' || reason === 'RolloutHangs');

const isSame = (a: Transition, b: Transition) => a.message === b.message && a.type === b.type;

/** Returns each change of a status, or of the reason of the same status, once. */
export function findTransitions(
  before: readonly Condition[] | undefined = [],
  after: readonly Condition[] | undefined = [],
): Transition[] {
  const stalled = after.find((one) => one.type === 'Stalled' && isTrue(one));
  const all = after.filter(isTransition).flatMap((condition): Transition[] => {
    const { type, status, reason, message } = condition;
    const former = before.find((one) => one.type === type);
    if (former?.status === status && former.reason === reason) return [];
    const good = isGood(condition, former, after);
    const mayPass = !good && stalled?.reason !== reason;
    return [{ condition: { type, status, reason }, type: good ? 'Normal' : 'Warning', message, mayPass }];
  });
  return all.filter((one, index) => all.findIndex((other) => isSame(one, other)) === index);
}
