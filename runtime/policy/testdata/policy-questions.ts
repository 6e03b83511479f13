import { isAuthorized, type CedarValueJson, type EntityJson, type TypeAndId } from '@cedar-policy/cedar-wasm/nodejs';
import fc from 'fast-check';
import { validatePolicySet } from '#crds/policy/validate';
import type { Authz } from '#crds/run-config/incoming';
import type { Identity } from '#runtime/incoming/identity';
import type { Log } from '#runtime/telemetry/log';
import { createAuthorizer } from '../authorize.ts';
import type { PolicyAction, PolicyResource } from '../authorizer.ts';
import { normaliseValue } from '../normalise-value.ts';

const log: Log = { debug: () => undefined, info: () => undefined, warn: () => undefined, error: () => undefined };

type OwnEntity = EntityJson & { uid: TypeAndId };
/** Policies and entities of one set. */
export interface PolicySource {
  readonly texts: string[];
  readonly entities: readonly OwnEntity[];
}
/** One request, as far as policies can read it. */
export interface Question {
  readonly subject: string;
  readonly groups: string[];
  readonly claims: Record<string, unknown>;
  readonly action: PolicyAction;
  readonly resource: PolicyResource;
  readonly args: Record<string, unknown>;
}

const clientA = { __entity: { type: 'Client', id: 'a' } };
const groupH = { __entity: { type: 'Group', id: 'h' } };
const ENTITIES: OwnEntity[] = [
  { uid: { type: 'Client', id: 'a' }, attrs: { team: 'red' }, parents: [] },
  { uid: { type: 'Group', id: 'g' }, attrs: {}, parents: [{ type: 'Group', id: 'all' }] },
  { uid: { type: 'Tool', id: 't' }, attrs: { owner: clientA, owners: groupH }, parents: [{ type: 'Client', id: 'a' }] },
];

const principals = [
  'principal',
  'principal',
  'principal',
  'principal',
  'principal == Client::"a"',
  'principal in Group::"g"',
  'principal is Client in Group::"h"',
];
const actions = [
  'action',
  'action',
  'action == Action::"call_tool"',
  'action in [Action::"tools/call", Action::"get_prompt"]',
];
const resources = ['resource', 'resource', 'resource == Tool::"t"', 'resource in Backend::"x"', 'resource is Prompt'];
const conditions = [
  'principal.claim_role == "x"',
  'context.claim_level > 1',
  'principal.claim_tags.contains("x")',
  'context.arg_path like "x*"',
  'context.arg_path == principal.claim_role',
  '(context has arg_n && context.arg_n < 2)',
  'context.arg_flag',
  '!(context has arg_path)',
  'context.arg_list.containsAny(principal.claim_tags)',
  'principal in Group::"g"',
  'principal == Client::"b"',
  'Client::"a" in Group::"g"',
  'Client::"a".claim_role == "x"',
  'resource.name == "t"',
  'resource.original_name == "t"',
  'resource.readOnlyHint',
  'resource has title',
  'action == Action::"prompts/get"',
];
/** These need the user's entities. */
const ownConditions = [
  '(principal has team && principal.team == "red")',
  '(resource is Tool && resource has owner && resource.owner == principal)',
  '(resource is Tool && resource.owner in Group::"g")',
  '(resource is Tool && resource.owner in resource.owners)',
  'resource in Group::"g"',
  'Group::"g" in Group::"all"',
];

function policyOf(known: readonly string[]): fc.Arbitrary<string> {
  const links = fc.array(fc.constantFrom(...known), { minLength: 1, maxLength: 2 });
  const [effect, kind] = [fc.constantFrom('permit', 'forbid'), fc.constantFrom('when', 'unless')];
  const scope = fc.tuple(fc.constantFrom(...principals), fc.constantFrom(...actions), fc.constantFrom(...resources));
  return fc
    .tuple(effect, scope, kind, links, fc.constantFrom(' && ', ' || '))
    .map(
      ([does, about, clause, parts, operator]) => `${does}(${about.join(', ')}) ${clause} { ${parts.join(operator)} };`,
    );
}

function sourceOf(known: readonly string[], entities: OwnEntity[]): fc.Arbitrary<PolicySource> {
  const permitAll = fc.constantFrom([], ['permit(principal, action, resource);']);
  const texts = fc
    .tuple(permitAll, fc.array(policyOf(known), { minLength: 1, maxLength: 3 }))
    .map((both) => both.flat());
  return fc.record({ texts, entities: fc.constant(entities) });
}

const whole = 'permit(principal, action, resource) when { context == {arg_path: "x"} };';
export const sources: fc.Arbitrary<PolicySource> = fc.oneof(
  { weight: 6, arbitrary: sourceOf(conditions, []) },
  { weight: 4, arbitrary: sourceOf([...conditions, ...ownConditions, ...ownConditions], ENTITIES) },
  { weight: 1, arbitrary: fc.constant<PolicySource>({ texts: [whole], entities: ENTITIES }) },
);

const value = fc.constantFrom<unknown>(
  'x',
  'y',
  'xy',
  0,
  1,
  2,
  true,
  false,
  ['x'],
  ['y', 'x'],
  [],
  null,
  1.5,
  { a: 1 },
  ['x', null],
);
const values = (...names: string[]) => fc.dictionary(fc.constantFrom(...names), value, { noNullPrototype: true });
const question: fc.Arbitrary<Question> = fc.record({
  subject: fc.constantFrom('a', 'b'),
  groups: fc.subarray(['g', 'h']),
  claims: values('role', 'level', 'tags', 'other'),
  action: fc.constantFrom('call_tool', 'get_prompt'),
  resource: fc.record({
    name: fc.constantFrom('t', 'u'),
    backend: fc.constantFrom('x', 'y'),
    originalName: fc.constantFrom('t', 'u'),
    annotations: fc.constantFrom(undefined, { readOnlyHint: true }, { readOnlyHint: false, title: 'T' }),
  }),
  args: values('path', 'n', 'flag', 'list', 'other'),
});

/** Questions that differ from the first in one thing each, as those do that a bad key confuses. */
const parts = [
  'subject',
  'groups',
  'claims',
  'action',
  'args',
  'name',
  'backend',
  'originalName',
  'annotations',
] as const;
export const questions = fc
  .tuple(question, fc.array(fc.tuple(question, fc.constantFrom(...parts)), { minLength: 5, maxLength: 14 }))
  .map(([first, changes]) => [first, ...changes.map(([other, part]) => withPart(first, other, part))]);

function withPart(first: Question, other: Question, part: (typeof parts)[number]): Question {
  if (part === 'name' || part === 'backend' || part === 'originalName' || part === 'annotations') {
    return { ...first, resource: { ...first.resource, [part]: other.resource[part] } };
  }
  return { ...first, [part]: other[part] };
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
  return { uid, attrs: { ...attrs, ...own?.attrs }, parents: [...parents, ...(own?.parents ?? [])] };
}

/** Cedar on the policies as they are written and on everything there is, without memory. */
export function plainly(source: PolicySource, asked: Question): boolean {
  const { name, backend, originalName, annotations } = asked.resource;
  const principal = { type: 'Client', id: asked.subject };
  const resource = { type: asked.action === 'call_tool' ? 'Tool' : 'Prompt', id: name };
  const claims = attributes('claim_', asked.claims);
  const groups = asked.groups.map((id) => ({ type: 'Group', id }));
  const request = [
    withOwn(source, principal, claims, groups),
    withOwn(source, resource, { name, backend, original_name: originalName, ...annotations }, [
      { type: 'Backend', id: backend },
    ]),
  ];
  const isOther = ({ uid }: OwnEntity) => !request.some((each) => each.uid.type === uid.type && each.uid.id === uid.id);
  const unalias = (text: string) => text.replaceAll('tools/call', 'call_tool').replaceAll('prompts/get', 'get_prompt');
  const answer = isAuthorized({
    principal,
    action: { type: 'Action', id: asked.action },
    resource,
    context: { ...claims, ...attributes('arg_', asked.args) },
    policies: { staticPolicies: Object.fromEntries(source.texts.map((text, i) => [`p${i}`, unalias(text)])) },
    entities: [...request, ...source.entities.filter(isOther)],
  });
  if (answer.type === 'failure') throw new Error(answer.errors[0]?.message);
  const { decision, diagnostics } = answer.response;
  const erred = diagnostics.errors.map(({ policyId }) => source.texts[Number(policyId.slice(1))]);
  return decision === 'allow' && !erred.some((text) => text?.startsWith('forbid'));
}

/** Loads a source; one that does not validate is passed over. */
export function load({ texts, entities }: PolicySource, cacheSize: number, name = 'server') {
  const entities_json = JSON.stringify(entities);
  fc.pre(validatePolicySet({ policies: texts, entitiesJson: entities_json }).ok);
  const authz: Authz = { type: 'cedarv1', version: '1.0', mode: 'enforce', policies: texts, entities_json };
  return createAuthorizer(authz, { log, cacheSize, name });
}
