import { Document, parseAllDocuments } from 'yaml';
import { sameValue } from '../same-value.ts';
import { mergeNode, valueOf } from './merge-node.ts';
import { spliceDocument } from './splice-document.ts';
import { formOf } from './form-of-document.ts';

/** The wanted content would lose other parts of the file. */
export class CannotEdit extends Error {
  override readonly name = 'CannotEdit';
}

/** Same options as for reading manifests. */
const READING = { merge: true, uniqueKeys: false, prettyErrors: false, logLevel: 'silent' } as const;

export function documentsOf(text: string): Document.Parsed[] {
  const documents = parseAllDocuments(text, READING);
  return Array.isArray(documents) ? documents : [];
}

/**
 * Keeps unchanged parts byte by byte where possible, comments and order included. With `force`, rewrites it as a last
 * resort.
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

/** @throws CannotEdit */
export function removeDocument(text: string, index: number): string {
  const expected = documentsOf(text).map((document) => valueOf(document.contents, document));
  expected.splice(index, 1);
  return firstThatSays(expected, [() => inPlaceOf(documentAt(text, index), text, '')]);
}

export function newDocument(value: Wanted): string {
  return new Document(value, { compat: 'yaml-1.1' }).toString({ lineWidth: 0 });
}

/** Skips an impossible edit, which throws or changes the content. @throws CannotEdit */
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
  // An empty text is parsed as one empty document.
  return sameValue(said, expected) || (expected.length === 0 && sameValue(said, [null]));
}

function documentAt(text: string, index: number): Document.Parsed {
  const document = documentsOf(text)[index];
  if (!document) throw new RangeError(`there is no document ${index}`);
  return document;
}

type Wanted = Record<string, unknown>;

const splice = (text: string, document: Document.Parsed, wanted: Wanted): string =>
  spliceDocument(text, document, wanted);

function rewrite(text: string, document: Document.Parsed, wanted: Wanted): string {
  mergeNode(document.contents, wanted, document);
  return inPlaceOf(document, text, document.toString(formOf(text, document)));
}

const replace = (text: string, document: Document.Parsed, wanted: Wanted): string =>
  inPlaceOf(document, text, `---\n${newDocument(wanted)}`);

function inPlaceOf({ range }: Document.Parsed, text: string, made: string): string {
  return text.slice(0, range[0]) + made + text.slice(range[2]);
}
