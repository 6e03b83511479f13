import type { EntityJson, TypeAndId } from '@cedar-policy/cedar-wasm/nodejs';
import fc from 'fast-check';
import type { PolicyAction, PolicyResource } from '../authorizer.ts';

export type OwnEntity = EntityJson & { uid: TypeAndId };
/** Policies and entities of one set. */
export interface PolicySource {
  readonly texts: string[];
  readonly entities: readonly OwnEntity[];
}
/** One request: the parts that policies can read. */
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
export const ENTITIES: OwnEntity[] = [
  { uid: { type: 'Client', id: 'a' }, attrs: { team: 'red' }, parents: [] },
  { uid: { type: 'Group', id: 'g' }, attrs: {}, parents: [{ type: 'Group', id: 'all' }] },
  { uid: { type: 'Tool', id: 't' }, attrs: { owner: clientA, owners: groupH }, parents: [{ type: 'Client', id: 'a' }] },
  { uid: { type: 'Tool', id: 'w' }, attrs: { owner: clientA }, parents: [{ type: 'Tool', id: 'kept' }] },
  { uid: { type: 'Tool', id: 'tu' }, attrs: {}, parents: [], tags: { kind: 'risky' } },
  { uid: { type: 'Backend', id: 'y' }, attrs: {}, parents: [{ type: 'Group', id: 'g' }] },
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
const resources = [
  'resource',
  'resource',
  'resource == Tool::"t"',
  'resource in Backend::"x"',
  'resource is Prompt',
  'resource is Tool in Backend::"y"',
];
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
/** Conditions that distinguish resources: by name, parent and attribute, through literals, patterns and other values. */
const resourceConditions = [
  'resource == Tool::"v"',
  'resource in [Tool::"u", Backend::"y"]',
  'resource in Prompt::"tu"',
  '[Tool::"u", Tool::"v"].contains(resource)',
  '{chosen: Tool::"tu"}.chosen == resource',
  '(if context has arg_flag then Tool::"u" else resource) == Tool::"v"',
  'resource.name != "u"',
  '"v" == resource.name',
  'resource.name like "t*"',
  'resource.name like "*u*"',
  'resource.name like "*u"',
  'resource.original_name like "*"',
  'resource.name like "v"',
  '["t", "v"].contains(resource.name)',
  'resource.name == resource.original_name',
  'resource.name == context.arg_path',
  'resource.backend == principal.claim_role',
  '[resource.name, "z"].containsAny(principal.claim_tags)',
  '(if resource.readOnlyHint then resource else Tool::"t").name == "v"',
  'resource.backend == "y"',
  'resource.backend like "x*"',
  'resource.title like "T*"',
  '(resource has title && resource.title == "Tx")',
  '(resource has title && resource.title != "Tx")',
];
/** Conditions that need the user's entities. */
const ownConditions = [
  '(principal has team && principal.team == "red")',
  '(resource is Tool && resource has owner && resource.owner == principal)',
  '(resource is Tool && resource.owner in Group::"g")',
  '(resource is Tool && resource.owner in resource.owners)',
  'resource in Tool::"kept"',
  'Tool::"w".owner == principal',
  '(resource is Tool && resource.hasTag("kind") && resource.getTag("kind") == "risky")',
  'resource in Group::"g"',
  'Group::"g" in Group::"all"',
];
const ownResourceConditions = [
  ...resourceConditions,
  'resource in Tool::"kept"',
  'resource in Group::"g"',
  'Tool::"w".owner == principal',
  '(resource is Tool && resource has owner)',
  '(resource is Tool && resource.hasTag("kind"))',
];

export function policyOf(known: readonly string[]): fc.Arbitrary<string> {
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
  { weight: 4, arbitrary: sourceOf([...conditions, ...resourceConditions], []) },
  {
    weight: 4,
    arbitrary: sourceOf([...conditions, ...resourceConditions, ...ownConditions, ...ownConditions], ENTITIES),
  },
  { weight: 1, arbitrary: fc.constant<PolicySource>({ texts: [whole], entities: ENTITIES }) },
);

/** Policies that decide by the resource alone, or by comparing it with the caller and the call. */
export const resourceSources: fc.Arbitrary<PolicySource> = fc
  .tuple(
    fc.constantFrom<[string[], OwnEntity[]]>([resourceConditions, []], [ownResourceConditions, ENTITIES]),
    fc.constantFrom('permit', 'forbid'),
  )
  .chain(([[known, entities], effect]) => {
    const policy = fc
      .tuple(fc.constantFrom(...resources), fc.constantFrom('when', 'unless'), fc.constantFrom(...known))
      .map(([resource, clause, condition]) => `${effect}(principal, action, ${resource}) ${clause} { ${condition} };`);
    const others = effect === 'permit' ? [] : ['permit(principal, action, resource);'];
    return fc
      .array(policy, { minLength: 1, maxLength: 2 })
      .map((texts) => ({ texts: [...others, ...texts], entities }));
  });

const NAMES = ['t', 'u', 'v', 'w', 'tu', 'tuv', 'other'];
const BACKENDS = ['x', 'y', 'z'];

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
const HINTS = [
  undefined,
  { readOnlyHint: true },
  { readOnlyHint: false, title: 'T' },
  { title: 'Tx' },
  { title: '\ud800' },
];
export const question: fc.Arbitrary<Question> = fc.record({
  subject: fc.constantFrom('a', 'b', 'c', 'd'),
  groups: fc.subarray(['g', 'h', 'i', 'j']),
  claims: values('role', 'level', 'tags', 'other'),
  action: fc.constantFrom('call_tool', 'get_prompt'),
  resource: fc.record({
    name: fc.constantFrom(...NAMES),
    backend: fc.constantFrom(...BACKENDS),
    originalName: fc.constantFrom(...NAMES),
    annotations: fc.constantFrom(...HINTS),
  }),
  args: values('path', 'n', 'flag', 'list', 'other'),
});

/** One caller's questions about many resources, in any order. */
export const resourceQuestions: fc.Arbitrary<readonly Question[]> = fc
  .tuple(
    fc.record({
      subject: fc.constantFrom('a', 'b', 'c'),
      action: fc.constantFrom('call_tool', 'get_prompt'),
      role: fc.constantFrom(...BACKENDS),
      tag: fc.constantFrom(...NAMES),
      path: fc.constantFrom(...NAMES),
      flag: fc.boolean(),
    }),
    fc.shuffledSubarray(
      NAMES.flatMap((name) =>
        BACKENDS.flatMap((backend) =>
          HINTS.map((annotations, index) => ({
            name,
            backend,
            originalName: index % 2 === 0 ? name : 'v',
            annotations,
          })),
        ),
      ),
      { minLength: 30, maxLength: 60 },
    ),
  )
  .map(([{ subject, action, role, tag, path, flag }, catalogue]) =>
    catalogue.map((resource) => ({
      subject,
      groups: ['g'],
      claims: { role, tags: [tag] },
      action,
      resource,
      args: flag ? { path, flag } : { path },
    })),
  );

/** Fields in which questions differ from the first one: an incorrect cache key would ignore one of them. */
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
