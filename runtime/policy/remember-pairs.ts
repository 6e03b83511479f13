import type { Decision, PolicyAction } from './authorizer.ts';

/** Last decision for one caller and one target: the same arguments again need no key. */
interface LastDecision {
  readonly action: PolicyAction;
  readonly call: string;
  readonly decision: Decision;
}

/** One decision for each caller and target, kept for as long as both exist. */
interface PairMemory<Caller, Target> {
  get(caller: Caller, target: Target): LastDecision | undefined;
  set(caller: Caller, target: Target, last: LastDecision): void;
}

export function createPairMemory<Caller extends object, Target extends object>(): PairMemory<Caller, Target> {
  const callers = new WeakMap<Caller, WeakMap<Target, LastDecision>>();
  return {
    get: (caller, target) => callers.get(caller)?.get(target),
    set(caller, target, last) {
      const known = callers.get(caller);
      if (known) known.set(target, last);
      else callers.set(caller, new WeakMap([[target, last]]));
    },
  };
}
