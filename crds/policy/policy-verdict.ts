import { findLoginReads } from './find-login-reads.ts';
import { namesAnonymous, readsCaller } from './mentions.ts';
import { type PolicySetSource, validatePolicySet } from './validate.ts';

export interface PolicyVerdict {
  readonly problems: readonly string[];
  /** Policies and conditions that can never apply. */
  readonly warnings: readonly string[];
  readonly readsCaller: boolean;
  readonly namesAnonymous: boolean;
  /** Messages about policies that read claims or name a `Client`, for endpoints without logins. */
  readonly loginReads: readonly string[];
}

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
