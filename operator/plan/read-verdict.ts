import { type PolicyVerdict, readPolicies } from '#crds/policy/policy-verdict';
import type { PolicyTexts, Snapshot } from '../snapshot.ts';

const read = new WeakMap<Snapshot, Map<string, PolicyVerdict>>();

/** Validates a policy set, once per `Snapshot`. A large set takes seconds, and several findings need the verdict. */
export function verdictOf(texts: PolicyTexts, snapshot: Snapshot): PolicyVerdict {
  if (snapshot.policies) return snapshot.policies.verdictOf(texts);
  const known = read.get(snapshot) ?? new Map<string, PolicyVerdict>();
  read.set(snapshot, known);
  const key = JSON.stringify(texts);
  const verdict = known.get(key) ?? readPolicies(texts);
  known.set(key, verdict);
  return verdict;
}
