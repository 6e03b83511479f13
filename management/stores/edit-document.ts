import { Document, parseAllDocuments } from 'yaml';
import { sameValue } from '../same-value.ts';
import { mergeNode, valueOf } from './merge-node.ts';
import { spliceDocument } from './splice-document.ts';
import { formOf } from './form-of-document.ts';

/** A document that cannot say what is wanted without losing what else stands in the file. */
export class CannotEdit extends Error {
  override readonly name = 'CannotEdit';
}

/** As manifests are read. */
const READING = { merge: true, uniqueKeys: false, prettyErrors: false, logLevel: 'silent' } as const;

/** Documents of a text, empty ones among them. */
export function documentsOf(text: string): Document.Parsed[] {
  const documents = parseAllDocuments(text, READING);
  return Array.isArray(documents) ? documents : [];
}

/**
 * The text in which one of its documents says `wanted`. What is the same is left as it is, byte by byte where that can be done;
 * comments, order and the other documents stay. With `force` the document is written anew where nothing else helps.
 * @throws CannotEdit
 */
export function editDocument(text: string, index: number, wanted: Wanted, force = false): string {
  const expected = documentsOf(text).map((document, at) =>
    at === index ? wanted : valueOf(document.contents, document),
  );
  const ways = force ? [splice, rewrite, replace] : [splice, rewrite];
  return firstThatSays(
    expected,
    ways.map((way) => () => way(text, documentAt(text, index), wanted)),
  );
}

/** The text without one of its documents. @throws CannotEdit */
export function removeDocument(text: string, index: number): string {
  const expected = documentsOf(text).map((document) => valueOf(document.contents, document));
  expected.splice(index, 1);
  return firstThatSays(expected, [() => inPlaceOf(documentAt(text, index), text, '')]);
}

/** A document by itself. */
export function newDocument(value: Wanted): string {
  return new Document(value, { compat: 'yaml-1.1' }).toString({ lineWidth: 0 });
}

/** What cannot be done fails in the library, or says something else. @throws CannotEdit */
function firstThatSays(expected: unknown[], ways: (() => string)[]): string {
  let cause: unknown;
  for (const way of ways) {
    try {
      const text = way();
      if (says(text, expected)) return text;
    } catch (error) {
      cause = error;
    }
  }
  throw new CannotEdit('what would go has an anchor that is used elsewhere', { cause });
}

function says(text: string, expected: unknown[]): boolean {
  const documents = documentsOf(text);
  if (documents.some(({ errors }) => errors.length > 0)) return false;
  const said = documents.map((document) => valueOf(document.contents, document));
  // A text in which nothing is left is one empty document.
  return sameValue(said, expected) || (expected.length === 0 && sameValue(said, [null]));
}

function documentAt(text: string, index: number): Document.Parsed {
  const document = documentsOf(text)[index];
  if (!document) throw new RangeError(`there is no document ${index}`);
  return document;
}

type Wanted = Record<string, unknown>;

/** Only the lines of what changes are written. */
const splice = (text: string, document: Document.Parsed, wanted: Wanted): string =>
  spliceDocument(text, document, wanted);

/** The document as the library writes it. */
function rewrite(text: string, document: Document.Parsed, wanted: Wanted): string {
  mergeNode(document.contents, wanted, document);
  return inPlaceOf(document, text, document.toString(formOf(text, document)));
}

/** The document without anything that it had. */
const replace = (text: string, document: Document.Parsed, wanted: Wanted): string =>
  inPlaceOf(document, text, `---\n${newDocument(wanted)}`);

function inPlaceOf({ range }: Document.Parsed, text: string, made: string): string {
  return text.slice(0, range[0]) + made + text.slice(range[2]);
}
