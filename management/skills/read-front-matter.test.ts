import { describe, expect, it } from '@jest/globals';
import { readFrontMatter } from './read-front-matter.ts';

const read = (yaml: string) => readFrontMatter(`---\nname: notes\ndescription: d\n${yaml}\n---\nDo it.\n`).errors;

describe('a front matter', () => {
  it.each([
    ['open brackets', `a: ${'['.repeat(60_000)}`, 'nested more than 50 deep; make it flatter'],
    ['open mappings', `a: ${'{a: '.repeat(15_000)}`, 'nested more than 50 deep; make it flatter'],
    [
      'thousands of keys',
      Array.from({ length: 6000 }, (_, index) => `k${index}: 1`).join('\n'),
      'more than 10000 words and signs; remove entries',
    ],
  ])('of %s is refused before it is parsed', (_, yaml, problem) => {
    expect(read(yaml)).toEqual([`SKILL.md: the front matter is not read: ${problem}`]);
  });

  it('says each thing once, and names the line where it does not', () => {
    expect(read('tags: a\ntags: b')).toEqual(['SKILL.md:5: the same key twice in one mapping; remove one']);
  });

  it('that is no YAML says so with the line', () => {
    expect(read('tags: [a')).toEqual([expect.stringMatching(/^SKILL\.md:[45]: /)]);
  });
});
