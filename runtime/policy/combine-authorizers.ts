import type { Authorizer } from './authorizer.ts';

/** Both must agree: the policies of the server and those of one of its backends. The first denial is the one explained. */
export function combineAuthorizers(a: Authorizer, b: Authorizer): Authorizer {
  return {
    id: JSON.stringify([a.id, b.id]),
    readsArguments: a.readsArguments || b.readsArguments,
    visible: (...request) => a.visible(...request) && b.visible(...request),
    decide: (...request) => {
      const first = a.decide(...request);
      if (!first.allowed) return first;
      const second = b.decide(...request);
      if (!second.allowed) return second;
      // In audit mode only what would have been denied is told.
      const telling = [first, second].filter(({ wouldDeny }) => wouldDeny === (first.wouldDeny || second.wouldDeny));
      return {
        allowed: true,
        wouldDeny: first.wouldDeny || second.wouldDeny,
        policies: telling.flatMap(({ policies }) => policies),
      };
    },
  };
}
