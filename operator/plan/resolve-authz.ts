import { type AuthzConfig, InlineAuthz, InlineOfCedarDocument } from '#crds/parts/authz-config';
import { type PolicyVerdict, readPolicies } from '#crds/policy/policy-verdict';
import type { RunConfigDocument } from '#crds/run-config/run-config';
import { Stalled } from '../errors.ts';
import type { PolicyTexts, Snapshot } from '../snapshot.ts';
import { defined } from './defined.ts';
import { readBlock, readConfigMapBlock } from './read-config-map-block.ts';

type AuthzDocument = NonNullable<RunConfigDocument['authz']>;

export interface ResolvedAuthz {
  readonly document: AuthzDocument;
  readonly readsCaller: boolean;
  /** Whether a policy names `Client::"anonymous"`. */
  readonly namesAnonymous: boolean;
}

const isCedarDocument = (value: unknown) => typeof value === 'object' && value !== null && 'cedar' in value;

const readAuthz = (text: string) =>
  readBlock<InlineAuthz>((value) => (isCedarDocument(value) ? InlineOfCedarDocument : InlineAuthz), text);

function sourceOf(field: string, configMap: AuthzConfig['configMap']): string {
  return configMap ? `${field}.configMap: ConfigMap "${configMap.name}", key "${configMap.key}"` : field;
}

/** `field`: that of the block. @throws Waiting for a missing ConfigMap; Stalled for policies that cannot be served */
export function resolveAuthz(
  config: AuthzConfig,
  field: string,
  groupsClaim: string | undefined,
  snapshot: Snapshot,
): ResolvedAuthz {
  const { configMap } = config;
  const inline = configMap
    ? readConfigMapBlock(readAuthz, configMap, `${field}.configMap`, 'InvalidPolicy', snapshot)
    : InlineAuthz.parse(config.inline ?? {});
  const texts = { policies: inline.policies, entitiesJson: inline.entitiesJson };
  const verdict = verdictOf(texts, snapshot);
  if (verdict.problems.length > 0)
    throw new Stalled('InvalidPolicy', `${sourceOf(field, configMap)}: ${verdict.problems.join('; ')}`);
  const document = defined({
    mode: config.mode,
    policies: inline.policies,
    entities_json: inline.entitiesJson,
    groups_claim: groupsClaim,
  });
  return { document, readsCaller: verdict.readsCaller, namesAnonymous: verdict.namesAnonymous };
}

/** Rejects policies that read the caller if each login creates a new user. @throws Stalled */
export function checkCallersNamed(place: string, { readsCaller }: ResolvedAuthz): void {
  if (!readsCaller) return;
  const message =
    `${place}: its policies read the principal or claims, but the primary provider of authServerConfig does not say who a user is: ` +
    'write userInfo or identityFromToken for it, or policies that do not read the caller';
  throw new Stalled('InvalidPolicy', message);
}

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
