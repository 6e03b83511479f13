import { Problem } from './problem.ts';

/** Accepted versions of a resource. A change requires that the current version is one of them. */
export type Expected = readonly string[];

/** New for each use, as `lastIndex` is state. RFC 9110 allows octets above ASCII; no tag of vmcp has them. */
const anElement = () => /[ \t]*(?:(W\/)?"([\x21\x23-\x7e\x80-\xff]*)"[ \t]*)?(,|$)/y;

interface Tag {
  version: string;
  isWeak: boolean;
}

/** @throws Problem `bad_request` */
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

/** Returns undefined if absent or `*`. Omits weak tags: RFC 9110 §13.1.1 requires strong comparison. @throws Problem `bad_request` */
export function readIfMatch(header: string | undefined): Expected | undefined {
  if (header === undefined || header.trim() === '*') return undefined;
  return readTags('If-Match', header).flatMap(({ version, isWeak }) => (isWeak ? [] : [version]));
}

/** Compares weakly (RFC 9110 §13.1.2). @throws Problem `bad_request` */
export function isKnown(version: string, header: string | undefined): boolean {
  if (header === undefined) return false;
  return header.trim() === '*' || readTags('If-None-Match', header).some((tag) => tag.version === version);
}

const malformed = (name: string): Problem =>
  new Problem('bad_request', `${name}: write entity tags, as ETag gave them: "a", or "a", "b"; or * for any`);

export const isExpected = (version: string, expected: Expected | undefined): boolean =>
  expected === undefined || expected.includes(version);
