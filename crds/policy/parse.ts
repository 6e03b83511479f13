import type { DetailedError, Effect, PolicyJson } from '@cedar-policy/cedar-wasm/nodejs';
import { cedar } from './cedar.ts';
import { normalisePolicy } from './normalise-policy.ts';

/** One policy in Cedar's JSON form, with actions by their canonical name and flat chains of `&&` and `||`. */
export interface ParsedPolicy {
  /** Name of the policy in Cedar, unique in its set. */
  readonly key: string;
  /** Its `@id`, or its position (`policies[2]`). */
  readonly id: string;
  readonly advice: string | undefined;
  readonly effect: Effect;
  readonly json: PolicyJson;
}

interface ParsedPolicies {
  readonly policies: readonly ParsedPolicy[];
  readonly problems: readonly string[];
}

export function describeError(error: DetailedError): string {
  const label = error.sourceLocations?.find((location) => location.label !== null)?.label;
  const hints = [label, error.help].filter((hint) => typeof hint === 'string');
  return hints.length === 0 ? error.message : `${error.message} (${hints.join('; ')})`;
}

export function nameOf(policy: { id: string }): string {
  return policy.id.startsWith('policies[') ? policy.id : `policy "${policy.id}"`;
}

/** Parses texts with one or more policies each. @returns the policies in order, and a problem for each unusable text or policy */
export function parsePolicies(texts: readonly string[]): ParsedPolicies {
  const policies: ParsedPolicy[] = [];
  const problems: string[] = [];
  texts.forEach((text, index) => {
    const place = `policies[${index}]`;
    const parts = splitText(text, place);
    problems.push(...parts.problems);
    parts.policies.forEach((part, nth) => {
      const where = parts.policies.length === 1 ? place : `${place}#${nth + 1}`;
      const parsed = parseOne(part, where, `policy${policies.length}`);
      if (typeof parsed === 'string') problems.push(parsed);
      else policies.push(parsed);
    });
  });
  return { policies, problems };
}

function splitText(text: string, place: string): { policies: readonly string[]; problems: readonly string[] } {
  const refuse = (problem: string) => ({ policies: [], problems: [problem] });
  const tooDeep = checkNesting(text);
  if (tooDeep !== undefined) return refuse(`${place} ${tooDeep}`);
  const parts = cedar().policySetTextToParts(text);
  if (parts.type === 'failure') {
    return {
      policies: [],
      problems: parts.errors.map((error) => `${place}: ${whereIn(text, error)}${describeError(error)}`),
    };
  }
  if (parts.policy_templates.length > 0) {
    return refuse(`${place} is a template: write the principal or resource in place of ?principal or ?resource`);
  }
  if (parts.policies.length === 0) return refuse(`${place} holds no policy: write one or remove the entry`);
  return { policies: parts.policies, problems: [] };
}

/** Cedar's positions are UTF-8 bytes. */
function whereIn(text: string, { sourceLocations: [at] = [] }: DetailedError): string {
  if (at === undefined) return '';
  const before = Buffer.from(text).subarray(0, at.start).toString().split('\n');
  return `line ${before.length}, column ${(before.at(-1)?.length ?? 0) + 1} of its text: `;
}

function parseOne(text: string, where: string, key: string): ParsedPolicy | string {
  const parsed = cedar().policyToJson(text);
  if (parsed.type === 'failure') return `${where}: ${parsed.errors.map(describeError).join('; ')}`;
  const id = parsed.json.annotations?.id ?? '';
  const advice = parsed.json.annotations?.advice;
  const named = id === '' ? where : id;
  const normalised = normalisePolicy(parsed.json);
  if (typeof normalised === 'string') return `${nameOf({ id: named })} ${normalised}`;
  return { key, id: named, advice: advice === '' ? undefined : advice, effect: normalised.effect, json: normalised };
}

/** Cedar recurses; a stack overflow breaks its WebAssembly for all later calls. Nesting breaks at 200, a chain of operators at 4,000. */
const MAX_NESTING = 48;
const MAX_OPERATORS = 1_000;

const TOKENS = /"(?:\\[^]|[^"\\])*"|\/\/[^\n\r]*|[([{]|[)\]}]|\|\||&&|[-+*.!;]|\b(?:if|when|unless)\b/g;
const OPENING = new Set(['(', '[', '{']);
const CLOSING = new Set([')', ']', '}']);

/** Counts the operators, brackets and conditions of all policies in a text, plus one per policy. */
export function countOperators(text: string): number {
  let operators = 0;
  for (const [token] of text.matchAll(TOKENS)) {
    if (!token.startsWith('"') && !token.startsWith('//') && !CLOSING.has(token)) operators += 1;
  }
  return operators;
}

/** Describes nesting or length that Cedar cannot read safely; undefined if there is none. Reads the text once. */
export function checkNesting(text: string): string | undefined {
  let depth = 0;
  let operators = 0;
  let conditionals = 0;
  for (const [token] of text.matchAll(TOKENS)) {
    if (token.startsWith('"') || token.startsWith('//')) continue;
    if (OPENING.has(token)) depth += 1;
    else if (CLOSING.has(token)) depth -= 1;
    else if (token === 'if') conditionals += 1;
    if (token === ';' && depth === 0) operators = conditionals = 0;
    else if (!CLOSING.has(token)) operators += 1;
    if (depth + conditionals > MAX_NESTING) return `is nested deeper than ${MAX_NESTING} levels: split it`;
    if (operators > MAX_OPERATORS) return `has more than ${MAX_OPERATORS} operators: split it`;
  }
  return undefined;
}
