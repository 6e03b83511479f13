import { Problem } from './problem.ts';

/** Versions of which one has to be in force still: where none is, nothing is changed. */
export type Expected = readonly string[];

/** A tag, or none, and what separates it from the next. Octets above ASCII are in no tag of ours, and no error. */
const ELEMENT = /[ \t]*(?:(W\/)?"([\x21\x23-\x7e\x80-\xff]*)"[ \t]*)?(,|$)/y;

/**
 * The versions of an `If-Match`; undefined where there is none, or any would do. A weak tag is of no version, as strong comparison is
 * asked for (RFC 9110 §13.1.1). @throws Problem `bad_request`
 */
export function readIfMatch(header: string | undefined): Expected | undefined {
  if (header === undefined || header.trim() === '*') return undefined;
  const expected: string[] = [];
  let hasTag = false;
  for (let at = 0; ;) {
    ELEMENT.lastIndex = at;
    const found = ELEMENT.exec(header);
    if (!found) throw malformed();
    const [{ length }, weak, tag, end] = found;
    hasTag ||= tag !== undefined;
    if (tag !== undefined && weak === undefined) expected.push(tag);
    if (end !== ',') break;
    at += length;
  }
  if (!hasTag) throw malformed();
  return expected;
}

const malformed = (): Problem =>
  new Problem('bad_request', 'If-Match: write entity tags, as ETag gave them: "a", or "a", "b"; or * for any');

/** Whether a change is to be made of this version. */
export const isExpected = (version: string, expected: Expected | undefined): boolean =>
  expected === undefined || expected.includes(version);
