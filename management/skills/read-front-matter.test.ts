import { describe, expect, it } from '@jest/globals';
import { readFrontMatter } from './read-front-matter.ts';

const read = (yaml: string) => readFrontMatter(`---\nname: notes\ndescription: d\n${yaml}\n---\nDo it.\n`).errors;

describe('readFrontMatter', () => {
  it.each([
    ['open brackets', `a: ${'['.repeat(60_000)}`, 'nested more than 50 deep; make it flatter'],
    ['open mappings', `a: ${'{a: '.repeat(15_000)}`, 'nested more than 50 deep; make it flatter'],
    [
      'thousands of keys',
      Array.from({ length: 6000 }, (_, index) => `k${index}: 1`).join('\n'),
      'more than 10000 words and signs; remove entries',
    ],
  ])('rejects %s before parsing', (_, yaml, problem) => {
    expect(read(yaml)).toEqual([`SKILL.md: the front matter is not read: ${problem}`]);
  });

  it('rejects duplicate keys, and names the line', () => {
    expect(read('tags: a\ntags: b')).toEqual(['SKILL.md:5: the same key twice in one mapping; remove one']);
  });

  it('reports invalid YAML with the line', () => {
    expect(read('tags: [a')).toEqual([expect.stringMatching(/^SKILL\.md:[45]: /)]);
  });
});
