import { findLoginReads } from './find-login-reads.ts';
import { namesAnonymous, readsCaller } from './mentions.ts';
import { type PolicySetSource, validatePolicySet } from './validate.ts';

/** The facts about a policy set that a platform uses. */
export interface PolicyVerdict {
  /** Problems; empty for a valid set. */
  readonly problems: readonly string[];
  /** Policies and conditions that can never apply. */
  readonly warnings: readonly string[];
  /** Whether a decision may depend on the caller: its uid, groups or claims. */
  readonly readsCaller: boolean;
  /** Whether policies or entities name `Client::"anonymous"`. */
  readonly namesAnonymous: boolean;
  /** Messages about policies that read claims or name a `Client`, for endpoints without logins. */
  readonly loginReads: readonly string[];
}

/** Validates a policy set. */
export function readPolicies(source: PolicySetSource): PolicyVerdict {
  const read = validatePolicySet(source);
  if (!read.ok)
    return { problems: read.problems, warnings: [], readsCaller: true, namesAnonymous: true, loginReads: [] };
  const { mentions, policies, entities } = read.set;
  return {
    problems: [],
    warnings: read.warnings,
    readsCaller: readsCaller(mentions),
    namesAnonymous: namesAnonymous(policies, entities, mentions),
    loginReads: findLoginReads(policies),
  };
}
