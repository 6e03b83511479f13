import type { z } from 'zod';
import { knownFields } from './known-fields.ts';
import { nearest } from './nearest.ts';

type Path = (string | number)[];

export interface Problem {
  file: string;
  /** 1-based; absent if the source is unknown. */
  line?: number;
  /** Path as written: `spec.incomingAuth.type`, `spec.upstreamProviders[0].name`. Empty for the whole document. */
  path: string;
  /** `what; remedy`. */
  message: string;
}

export interface Source {
  file: string;
  /** Returns the line of a path; undefined if the path is not written or the source is unknown. */
  lineOf: (path: Path) => number | undefined;
  /** The schema that rejected the document, to suggest field names for unknown ones. */
  schema: z.ZodType;
  /** Most explained problems; default: all. Untrusted input may have a hundred thousand. */
  most?: number;
}

/** Explains zod's issues as lines `file:line path: what; remedy`. */
export function explainIssues(error: z.ZodError, source: Source): string[] {
  return explainProblems(error, source).map(problemText);
}

/** Most problems in one answer. The next ones appear after these are fixed. */
export const TOLD = 20;
/** Most characters of a problem, which may contain a name of megabytes. */
const LONGEST = 4000;

export function explainSome(error: z.ZodError, source: Omit<Source, 'most'>): string[] {
  return tellSome(explainProblems(error, { ...source, most: TOLD + 1 }));
}

export function tellSome(problems: readonly Problem[]): string[] {
  const texts = problems
    .slice(0, TOLD)
    .map(problemText)
    .map((text) => (text.length > LONGEST ? `${text.slice(0, LONGEST)}…` : text));
  return problems.length > TOLD ? [...texts, 'and more'] : texts;
}

/** Explains zod's issues as objects. Returns at most one problem for each path and message. */
export function explainProblems(error: z.ZodError, source: Source): Problem[] {
  const { most = Infinity } = source;
  const found = new Map<string, Problem>();
  for (const issue of error.issues) {
    for (const problem of explain(issue, [], source)) found.set(problemText(problem), problem);
    if (found.size >= most) break;
  }
  return [...found.values()].slice(0, most);
}

export function problemText({ file, line, path, message }: Problem): string {
  const place = line === undefined ? file : `${file}:${line}`;
  return `${place}${path === '' ? '' : ` ${path}`}: ${message}`;
}

/** Returns a path as text. Quotes names with characters other than letters, digits, `-` and `_`. */
export function pathText(path: readonly PropertyKey[]): string {
  return path.reduce<string>((text, step) => {
    if (typeof step === 'number') return `${text}[${step}]`;
    const name = String(step);
    if (!/^[\w-]+$/.test(name)) return `${text}[${JSON.stringify(name)}]`;
    return text === '' ? name : `${text}.${name}`;
  }, '');
}

type Issue = z.core.$ZodIssue;

function explain(issue: Issue, above: Path, source: Source): Problem[] {
  const path = [...above, ...(issue.path as Path)];
  if (issue.code === 'unrecognized_keys') {
    const known = knownFields(source.schema, path);
    return issue.keys.slice(0, source.most).map((key) => {
      const message = misplacedField(key, path, source) ?? unknownField(key, known);
      return problemAt([...path, key], message, source);
    });
  }
  // The nested issues describe the invalid key of a map.
  if (issue.code === 'invalid_key') return issue.issues.flatMap((inner) => explain(inner, path, source));
  if (issue.code === 'invalid_union' && issue.errors.length > 0 && issue.message === 'Invalid input') {
    // The alternative that matched to the greatest depth is the likely intention.
    const [meant = []] = [...issue.errors].sort((a, b) => depth(b) - depth(a));
    return meant.slice(0, source.most).flatMap((inner) => explain(inner, path, source));
  }
  return [problemAt(path, describe(issue, isMissing(path, source)), source)];
}

const depth = (issues: Issue[]) => issues.reduce((deepest, { path }) => Math.max(deepest, path.length), 0);

export function problemAt(
  path: readonly (string | number)[],
  message: string,
  { file, lineOf }: Pick<Source, 'file' | 'lineOf'>,
): Problem {
  const line = nearestLine(path, lineOf);
  return { file, ...(line !== undefined && { line }), path: pathText(path), message };
}

function nearestLine(path: readonly (string | number)[], lineOf: Source['lineOf']): number | undefined {
  for (let length = path.length; length >= 0; length--) {
    const line = lineOf(path.slice(0, length));
    if (line !== undefined) return line;
  }
  return undefined;
}

function isMissing(path: Path, { lineOf }: Source): boolean {
  return path.length > 0 && lineOf(path) === undefined && lineOf([]) !== undefined;
}

function misplacedField(key: string, path: Path, { schema }: Source): string | undefined {
  for (let length = path.length - 1; length > 0; length--) {
    const above = path.slice(0, length);
    if (!knownFields(schema, above).includes(key)) continue;
    return `unknown field \`${key}\`; it belongs under \`${pathText(above)}\`: move it there`;
  }
  return undefined;
}

function unknownField(key: string, known: string[]): string {
  const meant = nearest(key, known);
  if (meant !== undefined) return `unknown field \`${key}\`; did you mean \`${meant}\`?`;
  const listed = known.length > 0 && known.length <= 20 ? `, or use one of ${known.join(', ')}` : '';
  return `unknown field \`${key}\`; remove it${listed}`;
}

function describe(issue: Issue, missing: boolean): string {
  switch (issue.code) {
    case 'invalid_type':
      return wrongType(issue.expected, issue.message);
    case 'invalid_value':
      return notOneOf(issue.values.map(String), missing);
    case 'invalid_union':
      return issue.errors.length > 0 ? issue.message : notOneOf(optionsOf(issue), missing);
    case 'too_big':
      return tooBig(issue.origin, String(issue.maximum));
    case 'too_small':
      return tooSmall(issue.origin, String(issue.minimum));
    case 'invalid_format':
      return badFormat(issue.format, issue.message);
    default:
      return issue.message;
  }
}

/** Returns the values of the discriminator. zod's types omit them. */
function optionsOf(issue: Issue): string[] {
  return 'options' in issue && Array.isArray(issue.options) ? issue.options.map(String) : [];
}

const KINDS: Record<string, string> = {
  string: 'a string',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
  object: 'a mapping',
  record: 'a mapping',
  array: 'a list',
};

function wrongType(expected: string, message: string): string {
  if (!message.startsWith('Invalid input')) return message;
  const wanted = KINDS[expected] ?? expected;
  const received = /received (\w+)/.exec(message)?.[1];
  if (received === 'undefined') return `required field is missing; write ${wanted}`;
  if (received === 'null') return `is empty; write ${wanted}`;
  const is = received === undefined ? 'has the wrong type' : `is ${KINDS[received] ?? received}`;
  return `${received === 'boolean' ? 'is a boolean' : is}, not ${wanted}; write ${wanted}${quoting(expected, received)}`;
}

/** Suggests quotes: YAML reads unquoted `true` and `5` as other types than text. */
function quoting(expected: string, received: string | undefined): string {
  if (expected === 'string' && (received === 'number' || received === 'boolean')) return ', in quotes';
  if (received === 'string' && expected !== 'object' && expected !== 'array') return ', without quotes';
  return '';
}

function notOneOf(values: string[], missing: boolean): string {
  const list = values.join(', ');
  if (missing) return `required field is missing; write ${values.length > 1 ? `one of ${list}` : list}`;
  return values.length > 1 ? `not one of ${list}; write one of them` : `not ${list}; write ${list}`;
}

function tooBig(origin: string, maximum: string): string {
  if (origin === 'string') return `longer than ${maximum} characters; shorten it`;
  if (origin === 'array') return `has more than ${maximum} entries; remove some`;
  return `greater than ${maximum}; write at most ${maximum}`;
}

function tooSmall(origin: string, minimum: string): string {
  if (origin === 'string') return minimum === '1' ? 'is empty; write a value' : `shorter than ${minimum} characters`;
  if (origin === 'array')
    return minimum === '1' ? 'is empty; write at least one entry' : `has fewer than ${minimum} entries`;
  return `less than ${minimum}; write at least ${minimum}`;
}

function badFormat(format: string, message: string): string {
  if (!message.startsWith('Invalid')) return message;
  if (format === 'url') return 'not a URL; write an absolute one, for example https://host.example/path';
  return `has not the expected form; ${message.replace(/^Invalid string: /, '')}`;
}
