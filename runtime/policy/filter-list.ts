import type { Clause, Expr } from '@cedar-policy/cedar-wasm/nodejs';
import { flattenChain } from '#crds/policy/normalise-policy';
import { readsArguments } from '#crds/policy/mentions';
import type { ParsedPolicy } from '#crds/policy/parse';

/**
 * The policies that decide what a list shows, where no arguments are there yet: `forbid`s that read arguments are left out,
 * and of `permit`s that read them only scope and the conditions free of them count. So a list may show too much, but whatever
 * a call is allowed is shown: each `permit` asks for less here, and each `forbid` forbids the same or is gone.
 */
export function policiesForLists(policies: readonly ParsedPolicy[]): readonly ParsedPolicy[] {
  return policies.flatMap((policy) => {
    const { conditions } = policy.json;
    if (!conditions.some(({ body }) => readsArguments(body))) return [policy];
    if (policy.effect === 'forbid') return [];
    return [{ ...policy, json: { ...policy.json, conditions: conditions.flatMap(freeOfArguments) } }];
  });
}

/** `when { a && b }` is two conditions, and so is `unless { a || b }`: those that read arguments are left out. */
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
