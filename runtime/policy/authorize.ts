import { randomUUID } from 'node:crypto';
import { type Mentions, readsCaller } from '#crds/policy/mentions';
import { validatePolicySet, type PolicySet } from '#crds/policy/validate';
import { GROUP } from '#crds/policy/vocabulary';
import type { Authz } from '#crds/run-config/incoming';
import { ConfigError } from '#runtime/errors';
import type { Log } from '#runtime/telemetry/log';
import type { Authorizer } from './authorizer.ts';
import { createDecider } from './decide.ts';
import { policiesForLists } from './filter-list.ts';
import { openAuthorizer } from './open-authorizer.ts';
import type { PolicyMetrics } from './policy-metrics.ts';

/** Limit of cached decisions, each for calls and for lists. One takes about 300 bytes. */
const CACHE_SIZE = 20_000;

export interface AuthorizerOptions {
  readonly log: Log;
  /** Names the policy set, e.g. `server` or `backend/files`. A reload under the same name reuses the set's memory in Cedar. */
  readonly name?: string;
  readonly cacheSize?: number;
  readonly metrics?: Partial<PolicyMetrics>;
  /** Whether a user has the same subject at each login; absent: true. If false, policies that read the caller are refused. */
  readonly usersAreNamed?: boolean;
}

const UNNAMED =
  'policies read the principal or claims, but the primary provider does not say who a user is; give it userinfo or identity_from_token';

/** `authz` absent: admits every authenticated caller; an empty list: none. @throws ConfigError with each invalid policy and its remedy */
export function createAuthorizer(authz: Authz | undefined, options: AuthorizerOptions): Authorizer {
  if (authz === undefined) return openAuthorizer();

  const validated = validatePolicySet({ policies: authz.policies, entitiesJson: authz.entities_json });
  const where = options.name === undefined ? '' : `${options.name}: `;
  if (!validated.ok) throw new ConfigError(validated.problems.map((problem) => where + problem).join('\n'));
  for (const warning of validated.warnings) options.log.warn(warning);

  const { mentions } = validated.set;
  if (options.usersAreNamed === false && readsCaller(mentions)) throw new ConfigError(where + UNNAMED);
  const readsArguments = mentions.wholeContext || mentions.args.length > 0;
  const { calls, lists } = createDeciders(validated.set, authz, options, readsArguments);
  const audited = authz.mode === 'audit';
  return {
    id: randomUUID(),
    readsArguments,
    reads: audited ? { claims: [], groups: false } : readsOf(mentions),
    names: validated.set.names,
    warnings: validated.warnings,
    visible: (identity, action, resource) => audited || lists.decide(identity, action, resource, undefined).allowed,
    decideVisible: (identity, action, resource) => lists.decide(identity, action, resource, undefined),
    classOf: lists.classOf,
    warmUp: lists.warmUp,
    decide: (identity, action, resource, args) => {
      const decision = calls.decide(identity, action, resource, args);
      if (decision.allowed) options.metrics?.decided?.('allowed');
      else options.metrics?.decided?.(audited ? 'would_deny' : 'denied');
      return decision.allowed || !audited ? decision : { ...decision, allowed: true, wouldDeny: true };
    },
  };
}

function readsOf({ claims, literals }: Mentions): Authorizer['reads'] {
  return { claims, groups: literals.some(({ type }) => type === GROUP) };
}

function createDeciders(set: PolicySet, authz: Authz, options: AuthorizerOptions, readsArguments: boolean) {
  const { log, metrics = {}, name = 'server', cacheSize = CACHE_SIZE } = options;
  const { policies, entities } = set;
  const shared = { entities, groupsClaim: authz.groups_claim, cacheSize, log, metrics };
  const calls = createDecider({ ...shared, name, policies });
  if (!readsArguments) return { calls, lists: calls };
  return { calls, lists: createDecider({ ...shared, name: `${name} lists`, policies: policiesForLists(policies) }) };
}
