import { decodeBackendMessage } from '#runtime/mcp/envelope/decode-backend-message';
import { findMember } from '../envelope/find-member.ts';
import { BRACE, BRACKET, CLOSE_BRACKET, skipSpace, valueEnd } from '../envelope/scan-json.ts';
import { spliceText, type Edit } from '../envelope/splice.ts';

const APP = /^text\/html\s*;\s*profile=mcp-app\s*$/i;
/** The decoder already checked the depth. */
const NO_DEPTH = 0;

/** Inserts HTML at the beginning of each app in an answer of `resources/read`. `text`: a JSON-RPC message. */
export function insertScript(text: string, script: string): string {
  const spans = decodeBackendMessage(text)?.spans;
  const contents = spans?.result && findMember(text, spans.result.start, 'contents');
  if (!contents) return text;
  const edits = objectsOf(text, contents.start).flatMap((open) => editsOf(text, open, script));
  const scope = spans['result.cacheScope'];
  // The script depends on the tools that this caller sees.
  if (edits.length > 0 && scope) edits.push({ ...scope, text: '"private"' });
  return spliceText(text, edits);
}

/** Returns the positions of the objects in the array at `open`. */
function objectsOf(text: string, open: number): number[] {
  const found: number[] = [];
  if (text.charCodeAt(open) !== BRACKET) return found;
  for (let at = skipSpace(text, open + 1); at < text.length && text.charCodeAt(at) !== CLOSE_BRACKET;) {
    const end = valueEnd(text, at, NO_DEPTH);
    if (end < 0) return found;
    if (text.charCodeAt(at) === BRACE) found.push(at);
    const comma = skipSpace(text, end);
    at = text[comma] === ',' ? skipSpace(text, comma + 1) : comma;
  }
  return found;
}

function editsOf(text: string, open: number, script: string): Edit[] {
  const stringOf = (member: string) => {
    const span = findMember(text, open, member);
    const value: unknown = span && JSON.parse(text.slice(span.start, span.end));
    return span && typeof value === 'string' ? { span, value } : undefined;
  };
  if (!APP.test(stringOf('mimeType')?.value ?? '')) return [];
  const [html, blob] = [stringOf('text'), stringOf('blob')];
  return [
    ...(html ? [{ ...html.span, text: JSON.stringify(withScript(html.value, script)) }] : []),
    ...(blob ? [{ ...blob.span, text: JSON.stringify(inBlob(blob.value, script)) }] : []),
  ];
}

function inBlob(base64: string, script: string): string {
  const html = Buffer.from(base64, 'base64').toString('utf8');
  return Buffer.from(withScript(html, script)).toString('base64');
}

/** Before the doctype the script would switch the browser to quirks mode. */
function withScript(html: string, script: string): string {
  const at = doctypeEnd(html);
  return html.slice(0, at) + script + html.slice(at);
}

function doctypeEnd(html: string): number {
  const space = /\s*/y;
  let at = html.startsWith('\uFEFF') ? 1 : 0;
  for (;;) {
    space.lastIndex = at;
    at += space.exec(html)?.[0].length ?? 0;
    if (!html.startsWith('<!--', at)) break;
    const end = html.indexOf('-->', at + 4);
    if (end < 0) return 0;
    at = end + 3;
  }
  const doctype = /<!doctype[^>]*>/iy;
  doctype.lastIndex = at;
  return doctype.test(html) ? doctype.lastIndex : 0;
}
