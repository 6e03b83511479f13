import fc from 'fast-check';
import { ENTITIES, policyOf, question, type OwnEntity, type PolicySource, type Question } from './policy-questions.ts';

/** Conditions that distinguish callers: by claims compared with literals, with other values, or read whole. */
const callerConditions = [
  'principal.claim_role == "x"',
  'principal.claim_role != "xy"',
  '"y" == context.claim_role',
  'principal.claim_role like "x*"',
  'context.claim_role like "*y"',
  '["x", "z"].contains(principal.claim_role)',
  'principal has claim_role',
  '(context has claim_level && context.claim_level > 1)',
  'principal.claim_level >= 0',
  '-1 < principal.claim_level',
  'principal.claim_level == 2',
  '[1, 7].contains(principal.claim_level)',
  'principal.claim_level + 1 > 2',
  'principal.claim_level > context.arg_n',
  'principal.claim_tags.contains("x")',
  'principal.claim_tags.containsAny(["y", "z"])',
  'context.claim_tags.containsAll(["x", "y"])',
  '["x", "z"].containsAll(principal.claim_tags)',
  'principal.claim_tags == ["x", "y"]',
  'principal.claim_tags.isEmpty()',
  'context.claim_tags == context.arg_list',
  'principal.claim_other',
  '!principal.claim_other',
  'principal.claim_other == true',
  'principal.claim_role == principal.claim_name',
  '(if principal.claim_other then principal.claim_role else "y") == "xy"',
  'principal.claim_tags.contains(principal.claim_role)',
  'principal in Group::"g"',
  'principal == Client::"a"',
  '(if context has arg_n then principal else Client::"a").claim_role == "y"',
  '{c: context}.c.claim_role == "y"',
  'Client::"b".claim_role == "x"',
];

/** Policies that decide by the caller. */
export const callerSources: fc.Arbitrary<PolicySource> = fc
  .tuple(
    fc.constantFrom<OwnEntity[]>([], ENTITIES),
    fc.array(policyOf(callerConditions), { minLength: 1, maxLength: 3 }),
  )
  .map(([entities, texts]) => ({
    texts: ['permit(principal, action, resource) when { context has claim_role };', ...texts],
    entities,
  }));

const strings = ['x', 'y', 'xy', 'yx', 'z', ''];
const mixed = [true, ['x'], { a: 1 }, 1.5, null, 1];
const claimsOfCallers = fc.record(
  {
    role: fc.oneof({ weight: 5, arbitrary: fc.constantFrom<unknown>(...strings) }, fc.constantFrom<unknown>(...mixed)),
    name: fc.constantFrom(...strings),
    level: fc.oneof({ weight: 5, arbitrary: fc.integer({ min: -3, max: 8 }) }, fc.constantFrom<unknown>('1', ...mixed)),
    tags: fc.oneof(
      { weight: 5, arbitrary: fc.array(fc.constantFrom('x', 'y', 'z', 'other', '1'), { maxLength: 4 }) },
      fc.constantFrom<unknown>([1, 'x'], ['x', null], 'x', ...mixed),
    ),
    other: fc.oneof({ weight: 5, arbitrary: fc.boolean() }, fc.constantFrom<unknown>('x', ...mixed)),
  },
  { requiredKeys: [], noNullPrototype: true },
);

/** Questions of many callers about one resource. */
export const callerQuestions: fc.Arbitrary<readonly Question[]> = fc
  .tuple(
    question,
    fc.array(fc.record({ subject: fc.constantFrom('a', 'b', 'c', 'd'), claims: claimsOfCallers }), {
      minLength: 30,
      maxLength: 50,
    }),
  )
  .map(([first, callers]) => callers.map((caller) => ({ ...first, ...caller })));
