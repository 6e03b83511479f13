import type { UserEntity } from '#crds/policy/entities';
import { findMentions } from '#crds/policy/mentions';
import { nameOf, type ParsedPolicy } from '#crds/policy/parse';
import { CLAIM } from '#crds/policy/vocabulary';
import { RequestError } from '#runtime/errors';
import type { Identity } from '#runtime/incoming/identity';
import type { Log } from '#runtime/telemetry/log';
import type { Decision, PolicyAction, PolicyResource } from './authorizer.ts';
import {
  createRequestBuilder,
  readArguments,
  readCaller,
  readTarget,
  type Caller,
  type Target,
} from './cedar-request.ts';
import { joinKey } from './decision-key.ts';
import { findNamedIds } from './named-ids.ts';
import type { PolicyMetrics } from './policy-metrics.ts';
import { loadPolicies, type CedarRequest, type LoadedPolicies } from './policy-engine.ts';
import { createPairMemory } from './remember-pairs.ts';
import { createMemory } from './remember-decisions.ts';
import { createResourceClassifier } from './resource-class.ts';
import { createValueClassifiers } from './value-class.ts';

interface DeciderSettings {
  readonly name: string;
  readonly policies: readonly ParsedPolicy[];
  readonly entities: readonly UserEntity[];
  readonly groupsClaim: string | undefined;
  readonly cacheSize: number;
  readonly log: Log;
  readonly metrics: Partial<PolicyMetrics>;
}

interface Decider {
  /** @throws RequestError 503 if Cedar fails */
  readonly decide: (identity: Identity, action: PolicyAction, resource: PolicyResource, args: unknown) => Decision;
  readonly classOf: (resource: PolicyResource) => object;
  /** Evaluates one request about the resource, without caching, counting or logging. */
  readonly warmUp: (action: PolicyAction, resource: PolicyResource) => void;
}

/** Limits the groups of the sample caller. With groups, Cedar also compiles conditions behind a group. */
const WARM_GROUPS = 8;

const DENIED: Decision = { allowed: false, wouldDeny: false, policies: [] };

/** Caches each decision by all values that the policies can read. @throws PolicyEngineFailed while loading */
export function createDecider(settings: DeciderSettings): Decider {
  const { cacheSize, entities, groupsClaim, metrics, policies } = settings;
  const mentions = findMentions(policies, entities);
  const ids = findNamedIds(policies, entities);
  const buildRequest = createRequestBuilder(entities, mentions);
  const memory = createMemory<Decision>(cacheSize);
  // Identities and list entries live as long as their token and list, and so do these cache entries.
  const callers = new WeakMap<Identity, Caller>();
  const callerOfClass = createClassMemory<Caller>(cacheSize);
  const targets = new WeakMap<PolicyResource, Target>();
  const targetOfClass = createClassMemory<Target>(cacheSize);
  const classify = createResourceClassifier(policies, ids, mentions);
  const claims = mentions.claims.map((name) => CLAIM + name);
  const classifiers = createValueClassifiers(policies, ['principal', 'context'], claims);
  const read = { mentions, groupsClaim, ids, classifiers };
  const loaded = loadPolicies(settings.name, Object.fromEntries(policies.map(({ key, json }) => [key, json])));
  const answer = createAnswerer(settings, loaded);
  const pairs = createPairMemory<Caller, Target>();

  const callerOf = (identity: Identity) =>
    callers.get(identity) ?? remember(callers, identity, callerOfClass(readCaller(identity, read)));
  const readClass = (resource: PolicyResource) => targetOfClass(readTarget(resource, mentions, classify));
  const classOf = (resource: PolicyResource) =>
    targets.get(resource) ?? remember(targets, resource, readClass(resource));
  const decide: Decider['decide'] = (identity, action, resource, args) => {
    const caller = callerOf(identity);
    const target = classOf(resource);
    if (!caller.speakable || !target.speakable) return DENIED;
    const call = readArguments(args, mentions);
    const pair = pairs.get(caller, target);
    if (pair?.action === action && pair.call === call.key) {
      metrics.lookedUp?.(true);
      return pair.decision;
    }
    const key = joinKey(action, caller.key, target.key, call.key);
    const remembered = memory.get(key);
    metrics.lookedUp?.(remembered !== undefined);
    const decision = remembered ?? answer(buildRequest(action, caller, target, call));
    if (remembered === undefined) memory.set(key, decision);
    if (cacheSize > 0) pairs.set(caller, target, { action, call: call.key, decision });
    return decision;
  };
  const sample = readCaller(sampleIdentity(ids, mentions.claims), read);
  const warmUp: Decider['warmUp'] = (action, resource) => {
    try {
      loaded.evaluate(buildRequest(action, sample, classOf(resource), readArguments(undefined, mentions)));
    } catch {
      // A later caller's request reports the failure.
    }
  };
  return { decide, classOf, warmUp };
}

function sampleIdentity(ids: ReadonlySet<string>, claims: readonly string[]) {
  const values = Object.fromEntries(claims.map((claim) => [claim, '']));
  return { subject: '', groups: [...ids].slice(0, WARM_GROUPS), claims: values };
}

/** Returns the same object for all members of a class: Cedar evaluates the class once. References are weak, as names may be long. */
function createClassMemory<T extends Caller | Target>(cacheSize: number): (read: T) => T {
  const classes = createMemory<WeakRef<T>>(cacheSize);
  return (read) => {
    if (!read.speakable) return read;
    const known = classes.get(read.key)?.deref();
    if (known === undefined) classes.set(read.key, new WeakRef(read));
    return known ?? read;
  };
}

function remember<K extends object, V>(known: WeakMap<K, V>, key: K, value: V): V {
  known.set(key, value);
  return value;
}

function createAnswerer(settings: DeciderSettings, loaded: LoadedPolicies): (request: CedarRequest) => Decision {
  const { log, metrics, policies } = settings;
  // Cedar returns policies in no fixed order; this restores the order of the configuration.
  const find = (keys: readonly string[]): ParsedPolicy[] => policies.filter(({ key }) => keys.includes(key));
  const reportErrors = createErrorReport(log, metrics);

  return (request) => {
    const { decision, diagnostics } = evaluate(() => loaded.evaluate(request), settings);
    const failed = find(diagnostics.errors.map(({ policyId }) => policyId));
    reportErrors(failed);
    // Cedar skips a failing policy. A failing `forbid` must still deny.
    const failedForbids = failed.filter(({ effect }) => effect === 'forbid').map(({ key }) => key);
    const allowed = decision === 'allow' && failedForbids.length === 0;
    const deciding = find([...diagnostics.reason, ...failedForbids]);
    const explained = deciding.filter(({ effect }) => (effect === 'permit') === allowed);
    return { allowed, wouldDeny: false, policies: explained.map(explain) };
  };
}

function explain({ id, advice }: ParsedPolicy): { id: string; advice?: string } {
  return advice === undefined ? { id } : { id, advice };
}

/** Fails closed: if Cedar fails, the call is denied. */
function evaluate<T>(ask: () => T, { log, metrics, name }: DeciderSettings): T {
  try {
    return ask();
  } catch (cause) {
    metrics.engineFailed?.();
    log.error('the policy engine failed', { policySet: name });
    const answer = { status: 503, code: 'policy_unavailable', text: 'Authorization is not available at the moment' };
    throw new RequestError(answer, { cause });
  }
}

/** Logs each policy once and counts each error. Cedar's message may contain values of the call, so it is not logged. */
function createErrorReport(log: Log, metrics: Partial<PolicyMetrics>): (failed: readonly ParsedPolicy[]) => void {
  const logged = new Set<string>();
  return (failed) => {
    for (const policy of failed) {
      metrics.policyErred?.(policy.effect);
      if (logged.has(policy.key)) continue;
      logged.add(policy.key);
      const effect = policy.effect === 'forbid' ? 'denies' : 'grants nothing';
      log.warn(`${nameOf(policy)} errs and therefore ${effect}: an attribute is missing or has another type`);
    }
  };
}
