import type { SchemaJson, ValidationError } from '@cedar-policy/cedar-wasm/nodejs';
import { cedar } from './cedar.ts';
import { checkNesting, countOperators, describeError, nameOf, type ParsedPolicy, parsePolicies } from './parse.ts';
import type { UserEntity } from './entities.ts';
import { buildSchema, type EntityShapes, shapeEntities } from './schema.ts';
import { explainUnknown, findImpossibleHas, type KnownAttributes } from './explain-attributes.ts';
import { inferTypes, type Reading } from './infer-types.ts';
import { findMentions, type Mentions } from './mentions.ts';
import { findNamedResources, type NamedResource } from './named-resources.ts';
import { readEntities } from './read-entities.ts';
import { writeType, type ValueType } from './value-type.ts';
import { CLIENT, RESOURCE_TYPES } from './vocabulary.ts';

/** Most combinations of types for ambiguous attributes; fewer for a set with a long validation. */
const MAX_ASSIGNMENTS = 32;
const LIGHT_SET = 250;

export interface PolicySetSource {
  /** Policy texts; each may hold several policies. */
  readonly policies: readonly string[];
  readonly entitiesJson?: string | undefined;
}

export interface PolicySet {
  readonly policies: readonly ParsedPolicy[];
  readonly entities: readonly UserEntity[];
  readonly mentions: Mentions;
  readonly names: readonly NamedResource[];
}

type PolicySetValidation =
  | { readonly ok: true; readonly set: PolicySet; readonly warnings: readonly string[] }
  | { readonly ok: false; readonly problems: readonly string[] };

/** Validates a policy set against a schema inferred from its use of claims and arguments. Problems name the policy and the remedy. Pure. */
export function validatePolicySet(source: PolicySetSource): PolicySetValidation {
  const tooMuch = checkWeight(source.policies);
  if (tooMuch.length > 0) return { ok: false, problems: tooMuch };
  const { policies, problems } = parsePolicies(source.policies);
  const { entities, problems: entityProblems } = readEntities(source.entitiesJson ?? '[]');
  const { shapes, problems: shapeProblems } = shapeEntities(entities);
  const found = [...problems, ...entityProblems, ...shapeProblems];
  if (found.length > 0) return { ok: false, problems: found };

  const readings = inferTypes(policies, attributesOf(shapes));
  const tried = assignments(readings).slice(0, attemptsFor(source.policies));
  const checks = tried.map((types) => check(policies, shapes, types));
  const passed = checks.find((checked) => checked.problems.length === 0);
  if (passed === undefined)
    return { ok: false, problems: [...explainDisputes(readings), ...(checks[0]?.problems ?? [])] };
  return {
    ok: true,
    set: {
      policies,
      entities,
      mentions: findMentions(policies, entities),
      names: findNamedResources(policies, entities),
    },
    warnings: [...passed.warnings, ...findImpossibleHas(policies, knownAttributes(shapes))],
  };
}

function knownAttributes(shapes: EntityShapes): KnownAttributes {
  const of = (types: readonly string[]) => {
    const known = types.flatMap((type) => shapes.get(type) ?? []);
    return {
      attributes: known.flatMap(({ attributes }) => [...attributes.keys()]),
      hasTags: known.some(({ tags }) => tags !== undefined),
    };
  };
  return { principal: of([CLIENT]), resource: of(Object.values(RESOURCE_TYPES)), context: of([]) };
}

function attemptsFor(policies: readonly string[]): number {
  const operators = policies.reduce((sum, text) => sum + countOperators(text), 0);
  return Math.max(1, Math.floor(MAX_ASSIGNMENTS / Math.max(1, operators / LIGHT_SET)));
}

/** Returns the types by attribute name on which all entity types agree. */
function attributesOf(shapes: EntityShapes): ReadonlyMap<string, ValueType> {
  const types = new Map<string, Set<string>>();
  const known = new Map<string, ValueType>();
  for (const { attributes } of shapes.values()) {
    for (const [name, type] of attributes) {
      types.set(name, (types.get(name) ?? new Set()).add(writeType(type)));
      known.set(name, type);
    }
  }
  return new Map([...known].filter(([name]) => types.get(name)?.size === 1));
}

/** Returns all combinations of one type per attribute, the most likely first. */
function assignments(readings: ReadonlyMap<string, readonly Reading[]>): ReadonlyMap<string, ValueType>[] {
  let choices = [new Map<string, ValueType>()];
  for (const [name, options] of readings) {
    const wider = choices.flatMap((choice) => options.map(({ type }) => new Map([...choice, [name, type]])));
    choices = wider.slice(0, MAX_ASSIGNMENTS);
  }
  return choices;
}

interface Check {
  readonly problems: readonly string[];
  readonly warnings: readonly string[];
}

function check(policies: readonly ParsedPolicy[], shapes: EntityShapes, types: ReadonlyMap<string, ValueType>): Check {
  const build = (required: boolean) => buildSchema({ shapes, requestAttributes: types, required });
  const known = knownAttributes(shapes);
  const always = runValidator(policies, build(true), known);
  const sometimes = runValidator(policies, build(false), known);
  // Attributes need no guard, so Cedar's findings about missing guards are no problems. All others are.
  const guarded = sometimes.problems.filter((problem) => !/safety of access|same optionality/.test(problem));
  return { problems: [...new Set([...always.problems, ...guarded])], warnings: sometimes.warnings };
}

function runValidator(policies: readonly ParsedPolicy[], schema: SchemaJson<string>, known: KnownAttributes): Check {
  const staticPolicies = Object.fromEntries(policies.map(({ key, json }) => [key, json]));
  const answer = cedar().validate({ schema, policies: { staticPolicies } });
  if (answer.type === 'failure') return { problems: answer.errors.map(describeError), warnings: [] };
  const names = new Map(policies.map((policy) => [policy.key, nameOf(policy)]));
  const order = [...names.keys()];
  // Cedar returns the findings of one policy in a varying order.
  const describe = (findings: readonly ValidationError[]): string[] =>
    findings
      .map(({ policyId, error }) => ({
        at: order.indexOf(policyId),
        text: `${names.get(policyId) ?? policyId}: ${explainUnknown(simplify(describeError(error)), known)}`,
      }))
      .sort((a, b) => a.at - b.at || (a.text < b.text ? -1 : 1))
      .map(({ text }) => text);
  const impossible = answer.validationWarnings.filter(({ error }) => error.message.includes('policy is impossible'));
  return { problems: describe(answer.validationErrors), warnings: describe(impossible) };
}

/** Removes Cedar's internal names of policies and types, and merges the messages of all actions. */
function simplify(text: string): string {
  return text
    .replaceAll(/for policy `[^`]*`, /g, '')
    .replaceAll(/ for Action::"[^"]*"/g, '')
    .replaceAll('__cedar::internal::AnyEntity, or __cedar::internal::OpenRecord{}', 'an entity or record')
    .replaceAll('Set<__cedar::internal::Any>', 'Set')
    .replaceAll('__cedar::internal::', '');
}

function explainDisputes(readings: ReadonlyMap<string, readonly Reading[]>): string[] {
  return [...readings].flatMap(([attribute, options]) => {
    const [first, second] = options;
    if (first === undefined || second === undefined) return [];
    const uses = `as ${writeType(first.type)} in ${first.by} and as ${writeType(second.type)} in ${second.by}`;
    return [`${attribute} is used ${uses}: an attribute has one type in all policies, change one of the two`];
  });
}

/** Validation time grows with operators and letters, up to seconds at these limits, and blocks the process. */
const MAX_LETTERS = 131_072;
const MAX_OPERATORS = 4_000;

const tooMany = (what: string, count: number, most: number) =>
  `policies have ${count} ${what} together, at most ${most} are read: shorten or remove some`;

/** Describes how the policies of one set together exceed the limits for parsing. Returns an empty list if they do not. */
function checkWeight(texts: readonly string[]): string[] {
  const letters = texts.reduce((sum, { length }) => sum + length, 0);
  const operators = texts.reduce((sum, text) => sum + countOperators(text), 0);
  if (letters <= MAX_LETTERS && operators <= MAX_OPERATORS) return [];
  // A message about a single policy beyond the limits is more precise.
  const single = texts.flatMap((text, index) => {
    const problem = checkNesting(text);
    return problem === undefined ? [] : [`policies[${index}] ${problem}`];
  });
  if (single.length > 0) return single;
  if (letters > MAX_LETTERS) return [tooMany('characters', letters, MAX_LETTERS)];
  return [tooMany('operators', operators, MAX_OPERATORS)];
}
