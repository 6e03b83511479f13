import ts from 'typescript';
import { forEachComment } from 'ts-api-utils';

/** A piece of text with its line, counted from 1. */
export interface Piece {
  readonly line: number;
  readonly text: string;
}

/** The words of a source file that people read. */
interface SourceWords {
  readonly comments: readonly Piece[];
  readonly testNames: readonly Piece[];
  /** Names that the file declares. */
  readonly names: readonly Piece[];
}

const TEST = /^(it|test)$/;

/** Reads comments, test names and declared names of a TypeScript file. Adjacent line comments are one comment. */
export function readSource(file: string, text: string): SourceWords {
  const source = ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true);
  const lineAt = (position: number) => source.getLineAndCharacterOfPosition(position).line + 1;
  const testNames: Piece[] = [];
  const names: Piece[] = [];
  const visit = (node: ts.Node): void => {
    const test = testNameOf(node);
    if (test) testNames.push({ line: lineAt(test.getStart()), text: test.text });
    const name = declaredName(node);
    if (name) names.push({ line: lineAt(name.getStart()), text: name.text });
    ts.forEachChild(node, visit);
  };
  visit(source);
  return { comments: readComments(source, text, lineAt), testNames, names };
}

function readComments(source: ts.SourceFile, text: string, lineAt: (position: number) => number): Piece[] {
  const comments: { line: number; end: number; text: string }[] = [];
  forEachComment(source, (_, { pos, end, kind }) => {
    const words = text
      .slice(pos, end)
      .replace(/^\/\*+|\*+\/$|^\/\/ ?/g, '')
      .replace(/^\s*\* ?/gm, '')
      .trim();
    const last = comments.at(-1);
    const isLine = kind === ts.SyntaxKind.SingleLineCommentTrivia;
    if (isLine && last?.end === lineAt(pos) - 1) {
      last.text += ` ${words}`;
      last.end = lineAt(end);
    } else comments.push({ line: lineAt(pos), end: isLine ? lineAt(end) : -1, text: words });
  });
  return comments.map(({ line, text: words }) => ({ line, text: words }));
}

/** Returns the name of `it(name, …)`, `it.each(…)(name, …)` and their like. */
function testNameOf(node: ts.Node): ts.StringLiteralLike | undefined {
  if (!ts.isCallExpression(node)) return undefined;
  let callee: ts.Expression = node.expression;
  while (ts.isCallExpression(callee) || ts.isPropertyAccessExpression(callee)) callee = callee.expression;
  const [name] = node.arguments;
  const isTest = ts.isIdentifier(callee) && TEST.test(callee.text);
  return isTest && name !== undefined && ts.isStringLiteralLike(name) ? name : undefined;
}

const DECLARATIONS = [
  ts.isClassDeclaration,
  ts.isInterfaceDeclaration,
  ts.isTypeAliasDeclaration,
  ts.isFunctionDeclaration,
  ts.isVariableDeclaration,
  ts.isParameter,
  ts.isPropertySignature,
  ts.isPropertyDeclaration,
  ts.isMethodDeclaration,
  ts.isMethodSignature,
];

function declaredName(node: ts.Node): ts.Identifier | ts.PrivateIdentifier | undefined {
  for (const isDeclaration of DECLARATIONS) {
    if (!isDeclaration(node)) continue;
    const { name } = node;
    return name && (ts.isIdentifier(name) || ts.isPrivateIdentifier(name)) ? name : undefined;
  }
  return undefined;
}
