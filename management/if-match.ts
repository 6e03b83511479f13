import { Problem } from './problem.ts';

/** Versions of which one has to be in force still: where none is, nothing is changed. */
export type Expected = readonly string[];

/**
 * A tag, or none, and what separates it from the next. Octets above ASCII are in no tag of ours, and no error. It is made for each
 * reading, as it keeps its place.
 */
const anElement = () => /[ \t]*(?:(W\/)?"([\x21\x23-\x7e\x80-\xff]*)"[ \t]*)?(,|$)/y;

interface Tag {
  version: string;
  isWeak: boolean;
}

/** The tags of a header, in its order. @throws Problem `bad_request` */
function readTags(name: string, header: string): Tag[] {
  const tags: Tag[] = [];
  const element = anElement();
  for (let at = 0; ;) {
    element.lastIndex = at;
    const found = element.exec(header);
    if (!found) throw malformed(name);
    const [{ length }, weak, tag, end] = found;
    if (tag !== undefined) tags.push({ version: tag, isWeak: weak !== undefined });
    if (end !== ',') break;
    at += length;
  }
  if (tags.length === 0) throw malformed(name);
  return tags;
}

/**
 * The versions of an `If-Match`; undefined where there is none, or any would do. A weak tag is of no version, as strong comparison is
 * asked for (RFC 9110 §13.1.1). @throws Problem `bad_request`
 */
export function readIfMatch(header: string | undefined): Expected | undefined {
  if (header === undefined || header.trim() === '*') return undefined;
  return readTags('If-Match', header).flatMap(({ version, isWeak }) => (isWeak ? [] : [version]));
}

/** Whether an `If-None-Match` has this version; weak comparison is asked for (RFC 9110 §13.1.2). @throws Problem `bad_request` */
export function isKnown(version: string, header: string | undefined): boolean {
  if (header === undefined) return false;
  return header.trim() === '*' || readTags('If-None-Match', header).some((tag) => tag.version === version);
}

const malformed = (name: string): Problem =>
  new Problem('bad_request', `${name}: write entity tags, as ETag gave them: "a", or "a", "b"; or * for any`);

/** Whether a change is to be made of this version. */
export const isExpected = (version: string, expected: Expected | undefined): boolean =>
  expected === undefined || expected.includes(version);
