import type { Clause, Expr } from '@cedar-policy/cedar-wasm/nodejs';
import { flattenChain } from '#crds/policy/normalise-policy';
import { readsArguments } from '#crds/policy/mentions';
import type { ParsedPolicy } from '#crds/policy/parse';

/**
 * Returns the policies for lists, which have no arguments yet. It drops `forbid`s that read arguments. It reduces `permit`s that read
 * arguments to their scope and the conditions without arguments. A list may thus show too much, but it shows every call that is allowed.
 */
export function policiesForLists(policies: readonly ParsedPolicy[]): readonly ParsedPolicy[] {
  return policies.flatMap((policy) => {
    const { conditions } = policy.json;
    if (!conditions.some(({ body }) => readsArguments(body))) return [policy];
    if (policy.effect === 'forbid') return [];
    return [{ ...policy, json: { ...policy.json, conditions: conditions.flatMap(freeOfArguments) } }];
  });
}

/** Returns the conditions without arguments. `when { a && b }` counts as two conditions, and so does `unless { a || b }`. */
function freeOfArguments(clause: Clause): Clause[] {
  if (!readsArguments(clause.body)) return [clause];
  const links = flattenChain(clause.body, clause.kind === 'when' ? '&&' : '||').filter((link) => !readsArguments(link));
  return joinLinks(clause.kind, links);
}

function joinLinks(kind: Clause['kind'], links: readonly Expr[]): Clause[] {
  const [first, ...others] = links;
  if (first === undefined) return [];
  const join = (left: Expr, right: Expr): Expr =>
    kind === 'when' ? { '&&': { left, right } } : { '||': { left, right } };
  return [{ kind, body: others.reduce(join, first) }];
}
