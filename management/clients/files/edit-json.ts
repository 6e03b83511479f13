import {
  applyEdits,
  findNodeAtLocation,
  modify,
  type Node,
  parse as parseJson,
  type ParseError,
  parseTree,
  printParseErrorCode,
  visit,
} from 'jsonc-parser';
import { type Editor, lineEndOf, tableOf, UnreadableConfig, type Values } from './config-editor.ts';

/** Counts from 1. */
function lineOf(text: string, offset: number): number {
  return text.slice(0, offset).split('\n').length;
}

function readJson(text: string, comments: boolean): Values {
  if ((comments ? withoutComments(text) : text).trim() === '') return {};
  const errors: ParseError[] = [];
  const value: unknown = parseJson(text, errors, { allowTrailingComma: comments, disallowComments: !comments });
  const [first] = errors;
  if (first) throw new UnreadableConfig(`line ${lineOf(text, first.offset)}: ${printParseErrorCode(first.error)}`);
  return tableOf(value, 'the file');
}

function formattingOf(text: string) {
  const [, space = '  '] = /^([ \t]+)\S/m.exec(text) ?? [];
  return {
    insertSpaces: !space.startsWith('\t'),
    tabSize: space.startsWith('\t') ? 1 : space.length,
    eol: lineEndOf(text),
  };
}

function putJson(text: string, table: string, name: string, entry: Values): string {
  const gap = text.trim() === '' || text.endsWith('\n') ? '' : lineEndOf(text);
  const before = withoutComments(text).trim() === '' ? `${text.trim() === '' ? '' : text}${gap}{}\n` : text;
  const formattingOptions = formattingOf(before);
  const hasTable = (readJson(before, true)[table] ?? null) !== null;
  const edits = hasTable
    ? modify(before, [table, name], entry, { formattingOptions })
    : modify(before, [table], { [name]: entry }, { formattingOptions });
  return applyEdits(before, edits);
}

function dropJson(text: string, table: string, name: string): string {
  const root = parseTree(text, [], { allowTrailingComma: true });
  const inside = root && findNodeAtLocation(root, [table]);
  const member = root && findNodeAtLocation(root, [table, name])?.parent;
  if (!inside || !member) return text;
  const others = text.slice(inside.offset, member.offset) + text.slice(endOf(member), endOf(inside));
  const isEmpty = inside.children?.length === 1 && withoutComments(others) === others;
  return cutMember(text, isEmpty ? (inside.parent ?? member) : member);
}

const endOf = ({ offset, length }: Node): number => offset + length;

/** Replaces comments with spaces. */
function withoutComments(text: string): string {
  let bare = text;
  visit(text, {
    onComment: (offset, length) => {
      bare = `${bare.slice(0, offset)}${' '.repeat(length)}${bare.slice(offset + length)}`;
    },
  });
  return bare;
}

/** Removes a member with its comma, and its line if nothing else is on it. Keeps comments beside it. */
function cutMember(text: string, member: Node): string {
  const bare = withoutComments(text);
  const before = text.slice(0, member.offset);
  const behind = text.slice(endOf(member));
  const comma = /,\s*$/.exec(bare.slice(0, member.offset))?.index;
  const between = comma === undefined ? undefined : before.slice(comma + 1);
  if (between?.trim() === '') return before.slice(0, comma) + behind;
  const next = /^\s*,/.exec(bare.slice(endOf(member)))?.[0].length;
  if (next !== undefined) return cutLine(before, behind.slice(0, next - 1) + behind.slice(next));
  return cutLine(between === undefined ? before : before.slice(0, comma) + between, behind);
}

/** Joins two parts of a text, without the line between them if that is empty. */
function cutLine(before: string, after: string): string {
  const [indent = ''] = /[ \t]*$/.exec(before) ?? [];
  const rest = /^[ \t]*(\r?\n|$)/.exec(after)?.[0];
  const above = before.slice(0, before.length - indent.length);
  const isEmpty = rest !== undefined && (above === '' || above.endsWith('\n'));
  return isEmpty ? above + after.slice(rest.length) : before + after;
}

/** Allows comments and trailing commas if `comments` is set. */
export const jsonEditor = (comments: boolean): Editor => ({
  read: (text) => readJson(text, comments),
  put: putJson,
  drop: dropJson,
  print: (table, name, entry) => JSON.stringify({ [table]: { [name]: entry } }, null, 2),
});
