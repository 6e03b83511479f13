import { readsCaller } from './mentions.ts';
import { type PolicySetSource, validatePolicySet } from './validate.ts';

/** What a platform needs to know of a policy set. */
export interface PolicyVerdict {
  /** What is wrong; empty: nothing. */
  readonly problems: readonly string[];
  /** Whether a decision may depend on the caller: on its uid, its groups or a claim. */
  readonly readsCaller: boolean;
}

/** Validates a policy set. */
export function readPolicies(source: PolicySetSource): PolicyVerdict {
  const read = validatePolicySet(source);
  if (!read.ok) return { problems: read.problems, readsCaller: true };
  return { problems: [], readsCaller: readsCaller(read.set.mentions) };
}
