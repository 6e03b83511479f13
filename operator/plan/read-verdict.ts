import { type PolicyVerdict, readPolicies } from '#crds/policy/policy-verdict';
import type { PolicyTexts, World } from '../world.ts';

const read = new WeakMap<World, Map<string, PolicyVerdict>>();

/** Validates a policy set, once per `World`. A large set takes seconds, and several findings need the verdict. */
export function verdictOf(texts: PolicyTexts, world: World): PolicyVerdict {
  if (world.policies) return world.policies.verdictOf(texts);
  const known = read.get(world) ?? new Map<string, PolicyVerdict>();
  read.set(world, known);
  const key = JSON.stringify(texts);
  const verdict = known.get(key) ?? readPolicies(texts);
  known.set(key, verdict);
  return verdict;
}
