import type { CedarValueJson, EntityJson, TypeAndId } from '@cedar-policy/cedar-wasm/nodejs';
import { writeUid, type UserEntity } from '#crds/policy/entities';
import type { Mentions } from '#crds/policy/mentions';
import { ARGUMENT, BACKEND, CLAIM, CLIENT, GROUP, HINT_TYPES, RESOURCE_TYPES } from '#crds/policy/vocabulary';
import type { Identity } from '#runtime/incoming/identity';
import type { PolicyAction, PolicyResource } from './authorizer.ts';
import { keyPart } from './decision-key.ts';
import { findReachable } from './find-reachable.ts';
import { normaliseValue, type PolicyValue } from './normalise-value.ts';
import type { CedarRequest } from './policy-engine.ts';
import type { ResourceClassifier } from './resource-class.ts';
import type { ValueClassifier } from './value-class.ts';

type Values = Readonly<Record<string, PolicyValue>>;

export interface Caller {
  /** Whether Cedar can represent the name: it rejects invalid Unicode. */
  readonly speakable: boolean;
  /** Identifies the class of the caller. Callers with the same key get the same decisions. */
  readonly key: string;
  readonly uid: TypeAndId;
  readonly groups: readonly string[];
  /** `claim_<name>` of each mentioned claim. */
  readonly attributes: Values;
  /** The claims in the context; all claims if a policy uses the context as a whole. */
  readonly context: Values;
}

export interface Target {
  readonly speakable: boolean;
  readonly key: string;
  readonly id: string;
  readonly backend: string;
  readonly attributes: Values;
}

interface CallArguments {
  readonly key: string;
  readonly context: Values;
}

interface CallerSettings {
  readonly mentions: Mentions;
  /** The claim that holds the groups for this policy set; absent: the groups of the identity. */
  readonly groupsClaim: string | undefined;
  readonly ids: ReadonlySet<string>;
  readonly classifiers: readonly ValueClassifier[];
}

export function readCaller(
  identity: Pick<Identity, 'subject' | 'groups' | 'claims'>,
  { mentions, groupsClaim, ids, classifiers }: CallerSettings,
): Caller {
  const { claims, subject } = identity;
  const attributes = readValues(claims, mentions.claims, CLAIM);
  const context = mentions.wholeContext ? readValues(claims, Object.keys(claims), CLAIM) : attributes;
  const groups = readGroups(identity, groupsClaim).filter((group) => ids.has(group));
  const values = mentions.claims.map((name, index) => classifiers[index]?.(attributes[CLAIM + name]));
  const whole = mentions.wholeContext ? Object.entries(context) : null;
  const named = mentions.principal ? [ids.has(subject) ? subject : null, groups] : null;
  const uid = { type: CLIENT, id: subject };
  return { speakable: subject.isWellFormed(), key: keyPart([named, values, whole]), uid, groups, attributes, context };
}

function readGroups(
  { claims, groups }: Pick<Identity, 'groups' | 'claims'>,
  groupsClaim: string | undefined,
): readonly string[] {
  const own = groupsClaim === undefined ? undefined : claims[groupsClaim];
  const named = own === undefined ? groups : [own].flat().filter((group) => typeof group === 'string');
  return [...new Set(named.filter((group) => group.isWellFormed()))].sort();
}

/** Reads a resource. Only mentioned attributes are passed; a comparison of the resource itself needs only its uid. */
export function readTarget(resource: PolicyResource, mentions: Mentions, classify: ResourceClassifier): Target {
  const { name, backend } = resource;
  const { resourceAttributes } = mentions;
  const attributes =
    resourceAttributes.length === 0 ? {} : readValues(offerAttributes(resource), resourceAttributes, '');
  const speakable = name.isWellFormed() && backend.isWellFormed();
  return { speakable, key: keyPart(classify(resource, attributes)), id: name, backend, attributes };
}

function offerAttributes({ name, backend, originalName, annotations }: PolicyResource): Record<string, unknown> {
  const offered: Record<string, unknown> = { name, backend, original_name: originalName };
  for (const [hint, type] of Object.entries(HINT_TYPES)) {
    const value = annotations?.[hint];
    if (typeof value === type.toLowerCase()) offered[hint] = value;
  }
  return offered;
}

const NO_ARGUMENTS: CallArguments = { key: '', context: {} };

/** @param args the parsed arguments; any value but an object counts as no arguments */
export function readArguments(args: unknown, mentions: Mentions): CallArguments {
  if (mentions.args.length === 0 && !mentions.wholeContext) return NO_ARGUMENTS;
  const given = isRecord(args) ? args : {};
  const context = readValues(given, mentions.wholeContext ? Object.keys(given) : mentions.args, ARGUMENT);
  const values = mentions.wholeContext
    ? Object.entries(context)
    : mentions.args.map((name) => context[ARGUMENT + name]);
  return { key: keyPart(values), context };
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function readValues(from: Readonly<Record<string, unknown>>, names: readonly string[], prefix: string): Values {
  const values: Record<string, PolicyValue> = {};
  for (const name of names) {
    const attribute = prefix + name.toWellFormed();
    const value = Object.hasOwn(from, name) ? normaliseValue(attribute, from[name]) : undefined;
    if (value !== undefined) values[attribute] = value;
  }
  return values;
}

export function createRequestBuilder(entities: readonly UserEntity[], mentions: Mentions) {
  const own = new Map(entities.map((entity) => [writeUid(entity.uid), entity]));
  return (action: PolicyAction, caller: Caller, target: Target, call: CallArguments): CedarRequest => {
    const resource = { type: RESOURCE_TYPES[action], id: target.id };
    const asked = [
      merge(
        own,
        caller.uid,
        caller.attributes,
        caller.groups.map((id) => ({ type: GROUP, id })),
      ),
      merge(own, resource, target.attributes, [{ type: BACKEND, id: target.backend }]),
    ];
    return {
      principal: caller.uid,
      action: { type: 'Action', id: action },
      resource,
      context: { ...caller.context, ...call.context },
      entities: [...asked, ...findReachable(asked, mentions.literals, own)],
    };
  };
}

function merge(
  own: ReadonlyMap<string, UserEntity>,
  uid: TypeAndId,
  attributes: Values,
  parents: readonly TypeAndId[],
): EntityJson & UserEntity {
  const added = own.get(writeUid(uid));
  const attrs: Record<string, CedarValueJson> = { ...added?.attrs };
  for (const [name, value] of Object.entries(attributes)) attrs[name] = toCedar(value);
  const merged = { uid, attrs, parents: [...parents, ...(added?.parents ?? [])] };
  return added?.tags === undefined ? merged : { ...merged, tags: added.tags };
}

function toCedar(value: PolicyValue): CedarValueJson {
  if (typeof value !== 'object') return value;
  return 'unreadable' in value ? { unreadable: value.unreadable } : [...value];
}
