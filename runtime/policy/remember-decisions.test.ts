import { isAuthorized, type CedarValueJson } from '@cedar-policy/cedar-wasm/nodejs';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { validatePolicySet } from '#crds/policy/validate';
import type { Identity } from '#runtime/incoming/identity';
import type { Log } from '#runtime/telemetry/log';
import { createAuthorizer } from './authorize.ts';
import type { PolicyAction, PolicyResource } from './authorizer.ts';
import { joinKey, keyPart } from './decision-key.ts';
import { normaliseValue } from './normalise-value.ts';
import { createMemory } from './remember-decisions.ts';

const log: Log = { debug: () => undefined, info: () => undefined, warn: () => undefined, error: () => undefined };

interface Question {
  readonly subject: string;
  readonly groups: string[];
  readonly claims: Record<string, unknown>;
  readonly action: PolicyAction;
  readonly resource: PolicyResource;
  readonly args: Record<string, unknown>;
}

const ENTITIES = [
  { uid: { type: 'Client', id: 'a' }, attrs: { team: 'red' }, parents: [{ type: 'Group', id: 'h' }] },
  { uid: { type: 'Group', id: 'g' }, attrs: {}, parents: [{ type: 'Group', id: 'all' }] },
  { uid: { type: 'Tool', id: 't' }, attrs: { owner: { __entity: { type: 'Client', id: 'a' } } }, parents: [] },
];

const scope = fc.record({
  principal: fc.constantFrom(
    'principal',
    'principal',
    'principal == Client::"a"',
    'principal in Group::"g"',
    'principal in Group::"all"',
    'principal is Client in Group::"h"',
  ),
  action: fc.constantFrom(
    'action',
    'action',
    'action == Action::"call_tool"',
    'action in [Action::"tools/call", Action::"get_prompt"]',
  ),
  resource: fc.constantFrom(
    'resource',
    'resource',
    'resource == Tool::"t"',
    'resource in Backend::"x"',
    'resource is Prompt',
  ),
});
const atom = fc.constantFrom(
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
  '(principal has team && principal.team == "red")',
  'resource.name == "t"',
  'resource.original_name == "t"',
  'resource.readOnlyHint',
  'resource has title',
  '(resource is Tool && resource has owner && resource.owner == principal)',
  '(resource is Tool && resource.owner in Group::"g")',
  'action == Action::"prompts/get"',
);
const condition = fc
  .array(atom, { minLength: 1, maxLength: 3 })
  .chain((atoms) => fc.constantFrom(atoms.join(' && '), atoms.join(' || '), `!(${atoms.join(' && ')})`));
const policy = fc
  .record({
    effect: fc.constantFrom('permit', 'permit', 'forbid'),
    scope,
    kind: fc.constantFrom('when', 'unless'),
    condition,
  })
  .map(
    ({ effect, scope: s, kind, condition: c }) =>
      `${effect}(${s.principal}, ${s.action}, ${s.resource}) ${kind} { ${c} };`,
  );
const whole = fc.constantFrom('permit(principal, action, resource) when { context == {arg_path: "x"} };');
const policies = fc.oneof(
  { weight: 9, arbitrary: fc.array(policy, { minLength: 1, maxLength: 4 }) },
  { weight: 1, arbitrary: whole.map((w) => [w]) },
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
  [1],
  [],
  null,
  1.5,
  { a: 1 },
  ['x', null],
);
const some = (...names: string[]) =>
  fc
    .array(fc.tuple(fc.constantFrom(...names), value), { maxLength: 3 })
    .map((entries) => Object.fromEntries(entries) as Record<string, unknown>);
const question: fc.Arbitrary<Question> = fc.record({
  subject: fc.constantFrom('a', 'b'),
  groups: fc.subarray(['g', 'h']),
  claims: some('role', 'level', 'tags', 'other'),
  action: fc.constantFrom('call_tool', 'get_prompt'),
  resource: fc.record({
    name: fc.constantFrom('t', 'u'),
    backend: fc.constantFrom('x', 'y'),
    originalName: fc.constantFrom('t', 'u'),
    annotations: fc.constantFrom(undefined, { readOnlyHint: true }, { readOnlyHint: false, title: 'T' }),
  }),
  args: some('path', 'n', 'flag', 'list', 'other'),
});

function identityOf({ subject, groups, claims }: Question): Identity {
  return {
    issuer: '',
    subject,
    clientId: undefined,
    scopes: [],
    groups,
    claims: claims as Identity['claims'],
    key: subject,
    token: undefined,
    expiresAt: Infinity,
  };
}

function attributes(prefix: string, values: Record<string, unknown>): Record<string, CedarValueJson> {
  return Object.fromEntries(
    Object.entries(values).flatMap(([name, given]) => {
      const normalised = normaliseValue(prefix + name, given);
      return normalised === undefined ? [] : [[prefix + name, normalised as CedarValueJson]];
    }),
  );
}

/** Cedar on everything there is, without what this project leaves out of a request, and without memory. */
function plainly(texts: readonly string[], asked: Question): boolean {
  const type = asked.action === 'call_tool' ? 'Tool' : 'Prompt';
  const uid = { type: 'Client', id: asked.subject };
  const resource = { type, id: asked.resource.name };
  const find = (wanted: { type: string; id: string }) =>
    ENTITIES.find((own) => own.uid.type === wanted.type && own.uid.id === wanted.id);
  const { name, backend, originalName, annotations } = asked.resource;
  const claims = attributes('claim_', asked.claims);
  const request = [
    {
      uid,
      attrs: { ...claims, ...find(uid)?.attrs },
      parents: [...asked.groups.map((id) => ({ type: 'Group', id })), ...(find(uid)?.parents ?? [])],
    },
    {
      uid: resource,
      attrs: { name, backend, original_name: originalName, ...annotations, ...find(resource)?.attrs },
      parents: [{ type: 'Backend', id: backend }],
    },
  ];
  const others = ENTITIES.filter((own) => own !== find(uid) && own !== find(resource));
  const answer = isAuthorized({
    principal: uid,
    action: { type: 'Action', id: asked.action },
    resource,
    context: { ...claims, ...attributes('arg_', asked.args) },
    policies: {
      staticPolicies: Object.fromEntries(
        texts.map((text, i) => [
          `p${i}`,
          text.replaceAll('tools/call', 'call_tool').replaceAll('prompts/get', 'get_prompt'),
        ]),
      ),
    },
    entities: [...request, ...others],
  });
  if (answer.type === 'failure') throw new Error(answer.errors[0]?.message);
  const { decision, diagnostics } = answer.response;
  return (
    decision === 'allow' &&
    !diagnostics.errors.some(({ policyId }) => texts[Number(policyId.slice(1))]?.startsWith('forbid'))
  );
}

describe('a remembered decision', () => {
  it('is the one that Cedar makes, and whatever is allowed is visible', () => {
    fc.assert(
      fc.property(
        policies,
        fc.array(question, { minLength: 5, maxLength: 25 }),
        fc.constantFrom(4, 1_000),
        (texts, asked, cacheSize) => {
          const entities_json = JSON.stringify(ENTITIES);
          fc.pre(validatePolicySet({ policies: texts, entitiesJson: entities_json }).ok);
          const authz = { type: 'cedarv1', version: '1.0', mode: 'enforce', policies: texts, entities_json } as const;
          const authorizer = createAuthorizer({ ...authz, policies: texts }, { log, cacheSize });
          for (const each of [...asked, ...asked]) {
            const { allowed } = authorizer.decide(identityOf(each), each.action, each.resource, each.args);
            expect({ texts, each, allowed }).toEqual({ texts, each, allowed: plainly(texts, each) });
            if (allowed) expect(authorizer.visible(identityOf(each), each.action, each.resource)).toBe(true);
          }
        },
      ),
      { seed: 7_301, numRuns: 60 },
    );
  });

  it('is looked up and not made again, whoever else asked it', () => {
    const lookups: boolean[] = [];
    const metrics = { lookedUp: (remembered: boolean) => lookups.push(remembered) };
    const text = 'permit(principal, action, resource) when { context.arg_n > 3 && principal.claim_role == "x" };';
    const authz = { type: 'cedarv1', version: '1.0', mode: 'enforce', policies: [text], entities_json: '[]' } as const;
    const authorizer = createAuthorizer({ ...authz, policies: [text] }, { log, metrics });
    const ask = (subject: string, role: string, args: unknown, name = 't') => {
      const asked = { subject, groups: [], claims: { role, other: subject } } as unknown as Question;
      authorizer.decide(identityOf(asked), 'call_tool', { name, backend: 'b', originalName: 't' }, args);
      return lookups.at(-1);
    };
    expect(ask('a', 'x', { n: 4 })).toBe(false);
    expect(ask('a', 'x', { n: 4, other: 1 })).toBe(true);
    expect(ask('b', 'x', { n: 4 })).toBe(true);
    expect(ask('b', 'y', { n: 4 })).toBe(false);
    expect(ask('b', 'x', { n: 5 })).toBe(false);
    expect(ask('b', 'x', { n: '4' })).toBe(false);
    expect(ask('b', 'x', { n: 4 }, 'u')).toBe(false);
    expect(ask('a', 'x', { n: 4 })).toBe(true);
  });
});

describe('the key of a decision', () => {
  it('is another one for other values, wherever they stand', () => {
    const text = fc.constantFrom('', 'a', 'b', '\n', '"', ',', '["a"]', 'null', '#', 'a'.repeat(600));
    const parts = fc.tuple(
      fc.array(text, { maxLength: 3 }),
      fc.array(text, { maxLength: 3 }),
      fc.array(text, { maxLength: 3 }),
    );
    const keyOf = ([a, b, c]: [string[], string[], string[]]) =>
      joinKey('call_tool', keyPart(a), keyPart(b), keyPart(c));
    fc.assert(
      fc.property(parts, parts, (one, other) => {
        expect(keyOf(one) === keyOf(other)).toBe(JSON.stringify(one) === JSON.stringify(other));
      }),
      { seed: 11, numRuns: 2_000 },
    );
    const values = ['1', 1, true, 'true', null, 'null', [1], '[1]', ['1'], [], '', { unreadable: 'arg_x' }];
    expect(new Set(values.map((each) => keyPart([each]))).size).toBe(values.length);
  });

  it('stays short for long values', () => {
    expect(keyPart(['x'.repeat(100_000)]).length).toBeLessThan(64);
    expect(keyPart(['x'.repeat(100_000)])).not.toBe(keyPart(['x'.repeat(100_001)]));
  });
});

describe('the memory', () => {
  it('never holds more than its bound, and forgets first what was not asked for', () => {
    const memory = createMemory<number>(10);
    memory.set('kept', 0);
    for (let i = 1; i <= 1_000; i += 1) {
      memory.set(`k${i}`, i);
      expect(memory.get('kept')).toBe(0);
      expect(memory.size).toBeLessThanOrEqual(10);
    }
    expect(memory.get('k1000')).toBe(1_000);
    expect(memory.get('k1')).toBeUndefined();
  });

  it('remembers nothing where nothing may be remembered', () => {
    const memory = createMemory<number>(0);
    memory.set('a', 1);
    expect(memory.get('a')).toBeUndefined();
    expect(memory.size).toBe(0);
  });
});
