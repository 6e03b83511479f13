import {
  isAuthorized,
  type CedarValueJson,
  type Effect,
  type PolicyJson,
  type TypeAndId,
} from '@cedar-policy/cedar-wasm/nodejs';
import fc from 'fast-check';
import { validatePolicySet } from '#crds/policy/validate';
import type { Authz } from '#crds/run-config/incoming';
import type { Identity } from '#runtime/incoming/identity';
import type { Log } from '#runtime/telemetry/log';
import { createAuthorizer, type AuthorizerOptions } from '../authorize.ts';
import { policiesForLists } from '../filter-list.ts';
import { normaliseValue } from '../normalise-value.ts';
import type { OwnEntity, PolicySource, Question } from './policy-questions.ts';

const log: Log = { debug: () => undefined, info: () => undefined, warn: () => undefined, error: () => undefined };

/** A policy as text or in Cedar's JSON form. */
interface PlainPolicy {
  readonly effect: Effect;
  readonly policy: string | PolicyJson;
}

export function identityOf({ subject, groups, claims }: Question): Identity {
  const rest = { issuer: '', clientId: undefined, scopes: [], token: undefined, expiresAt: Infinity };
  return { ...rest, subject, groups, claims: claims as Identity['claims'], key: subject };
}

function attributes(prefix: string, given: Record<string, unknown>): Record<string, CedarValueJson> {
  return Object.fromEntries(
    Object.entries(given).flatMap(([name, each]) => {
      const normalised = normaliseValue(prefix + name, each);
      return normalised === undefined ? [] : [[prefix + name, normalised as CedarValueJson]];
    }),
  );
}

function withOwn(
  source: PolicySource,
  uid: TypeAndId,
  attrs: Record<string, CedarValueJson>,
  parents: TypeAndId[],
): OwnEntity {
  const own = source.entities.find((each) => each.uid.type === uid.type && each.uid.id === uid.id);
  const { tags } = own ?? {};
  const entity = { uid, attrs: { ...attrs, ...own?.attrs }, parents: [...parents, ...(own?.parents ?? [])] };
  return tags === undefined ? entity : { ...entity, tags };
}

function ask(policies: readonly PlainPolicy[], source: PolicySource, asked: Question): boolean {
  const { name, backend, originalName, annotations } = asked.resource;
  const principal = { type: 'Client', id: asked.subject };
  const resource = { type: asked.action === 'call_tool' ? 'Tool' : 'Prompt', id: name };
  const claims = attributes('claim_', asked.claims);
  const groups = asked.groups.map((id) => ({ type: 'Group', id }));
  const request = [
    withOwn(source, principal, claims, groups),
    withOwn(source, resource, attributes('', { name, backend, original_name: originalName, ...annotations }), [
      { type: 'Backend', id: backend },
    ]),
  ];
  const isOther = ({ uid }: OwnEntity) => !request.some((each) => each.uid.type === uid.type && each.uid.id === uid.id);
  const answer = isAuthorized({
    principal,
    action: { type: 'Action', id: asked.action },
    resource,
    context: { ...claims, ...attributes('arg_', asked.args) },
    policies: { staticPolicies: Object.fromEntries(policies.map(({ policy }, i) => [`p${i}`, policy])) },
    entities: [...request, ...source.entities.filter(isOther)],
  });
  if (answer.type === 'failure') throw new Error(answer.errors[0]?.message);
  const { decision, diagnostics } = answer.response;
  const erred = diagnostics.errors.map(({ policyId }) => policies[Number(policyId.slice(1))]);
  return decision === 'allow' && !erred.some((policy) => policy?.effect === 'forbid');
}

/** Evaluates the unchanged policies with all attributes and entities, without a cache. */
export function plainly(source: PolicySource, asked: Question): boolean {
  const unalias = (text: string) => text.replaceAll('tools/call', 'call_tool').replaceAll('prompts/get', 'get_prompt');
  const effectOf = (text: string): Effect => (text.startsWith('forbid') ? 'forbid' : 'permit');
  const policies = source.texts.map((text) => ({ effect: effectOf(text), policy: unalias(text) }));
  return ask(policies, source, asked);
}

/** Evaluates in the same way the policies that decide the content of a list. */
export function readPlainVisibility(source: PolicySource): (asked: Question) => boolean {
  const validated = validatePolicySet({ policies: source.texts, entitiesJson: JSON.stringify(source.entities) });
  if (!validated.ok) throw new Error(validated.problems.join('\n'));
  const policies = policiesForLists(validated.set.policies).map(({ effect, json }) => ({ effect, policy: json }));
  return (asked) => ask(policies, source, { ...asked, args: {} });
}

/** Loads a source; `fc.pre` skips an invalid one. */
export function load(
  { texts, entities }: PolicySource,
  { name = 'server', ...options }: Omit<AuthorizerOptions, 'log'>,
) {
  const entities_json = JSON.stringify(entities);
  fc.pre(validatePolicySet({ policies: texts, entitiesJson: entities_json }).ok);
  const authz: Authz = { type: 'cedarv1', version: '1.0', mode: 'enforce', policies: texts, entities_json };
  return createAuthorizer(authz, { log, name, ...options });
}
