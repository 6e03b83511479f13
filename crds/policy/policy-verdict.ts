import { findMentions, namesAnonymous, readsCaller } from './mentions.ts';
import { nameOf, type ParsedPolicy } from './parse.ts';
import { type PolicySetSource, validatePolicySet } from './validate.ts';
import { ANONYMOUS, CLAIM, CLIENT } from './vocabulary.ts';

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

/** Returns a message for each policy that reads claims or names another `Client`. No anonymous caller matches these. */
function findLoginReads(policies: readonly ParsedPolicy[]): string[] {
  return policies.flatMap((policy) => {
    const read = [...claimsOf(policy), ...clientsOf(policy)].map((name) => `\`${name}\``);
    return read.length === 0
      ? []
      : [`${nameOf(policy)}: asks for ${read.join(', ')}, which no anonymous caller has or is`];
  });
}

function claimsOf(policy: ParsedPolicy): string[] {
  return findMentions([policy], []).claims.map((name) => `${CLAIM}${name}`);
}

function clientsOf(policy: ParsedPolicy): string[] {
  const { principal } = policy.json;
  const scope = principal.op === '==' && 'entity' in principal ? [principal.entity] : [];
  const uids = [...scope, ...findMentions([policy], []).literals].map((uid) =>
    '__entity' in uid ? uid.__entity : uid,
  );
  const others = uids.filter(({ type, id }) => type === CLIENT && id !== ANONYMOUS);
  return [...new Set(others.map(({ id }) => `${CLIENT}::${JSON.stringify(id)}`))];
}
