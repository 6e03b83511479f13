// Reads the names of tests, and the texts that tables give them, out of test files without running them.
import ts from 'typescript';

const CALLS = new Set(['describe', 'it', 'test']);

/** A name as it is written; placeholders of tables (`%s`, `$of`, `${…}`) stand for anything. */
export interface TestName {
  readonly text: string;
  /** What the placeholders stand for in this name; undefined where it is another test's. */
  entriesOf(name: string): readonly string[] | undefined;
}

const PLACEHOLDER = /\$\{\}|%[a-zA-Z#%]|\$[a-zA-Z_][\w.]*/g;
const escaped = (text: string): string => text.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&');

function readName(text: string): TestName {
  const pattern = new RegExp(`^${text.split(PLACEHOLDER).map(escaped).join('(.+)')}$`, 's');
  return { text, entriesOf: (name) => (name === text ? [] : pattern.exec(name)?.slice(1)) };
}

/** The function that is called in the end: `it` of `it.each(table)('name', …)`. */
function rootOf(callee: ts.Expression): string | undefined {
  if (ts.isIdentifier(callee)) return callee.text;
  if (ts.isPropertyAccessExpression(callee) || ts.isCallExpression(callee)) return rootOf(callee.expression);
  return undefined;
}

function textOf(argument: ts.Expression | undefined): string | undefined {
  if (argument === undefined) return undefined;
  if (ts.isStringLiteralLike(argument)) return argument.text;
  if (!ts.isTemplateExpression(argument)) return undefined;
  return argument.head.text + argument.templateSpans.map(({ literal }) => `\${}${literal.text}`).join('');
}

function walk(file: string, text: string, visit: (node: ts.Node) => void): void {
  const below = (node: ts.Node): void => {
    visit(node);
    ts.forEachChild(node, below);
  };
  below(ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true));
}

/** All names of one test file, of tests and of what groups them. */
export function readTestNames(file: string, text: string): TestName[] {
  const names: TestName[] = [];
  walk(file, text, (node) => {
    if (!ts.isCallExpression(node) || !CALLS.has(rootOf(node.expression) ?? '')) return;
    const name = textOf(node.arguments[0]);
    if (name !== undefined) names.push(readName(name));
  });
  return names;
}

/** All texts that a file writes as literals; comments are none. */
export function readLiterals(file: string, text: string): Set<string> {
  const literals = new Set<string>();
  walk(file, text, (node) => {
    if (ts.isStringLiteralLike(node)) literals.add(node.text);
  });
  return literals;
}
