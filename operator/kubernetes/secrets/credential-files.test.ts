import { describe, expect, it } from '@jest/globals';
import { collectFiles, keepOlder } from './credential-files.ts';

describe('collectFiles and keepOlder', () => {
  it('return the content of the sources', () => {
    const sources = { 'a-1': { secret: 'a', key: 'k' }, 'sealing-2': { generated: 'sealing' as const } };
    expect(collectFiles(sources, (source) => ('secret' in source ? source.secret : source.generated))).toEqual({
      'a-1': 'a',
      'sealing-2': 'sealing',
    });
  });

  it('keep files of older documents only while a pod may read them', () => {
    const standing = { 'a-1': 'old', 'b-1': 'same' };
    const files = { 'a-2': 'new', 'b-1': 'same' };
    expect(keepOlder(files, standing, true)).toEqual({ 'a-1': 'old', 'a-2': 'new', 'b-1': 'same' });
    expect(keepOlder(files, standing, false)).toEqual(files);
    expect(keepOlder(files, undefined, true)).toEqual(files);
  });

  it('restore a file after a change by hand', () => {
    expect(keepOlder({ 'a-1': 'right' }, { 'a-1': 'forged' }, true)).toEqual({ 'a-1': 'right' });
  });

  it('drop files of older documents if there are too many of them', () => {
    const digests = (count: number) =>
      Object.fromEntries(Array.from({ length: count }, (_, at) => [`config.${at}`, '']));
    expect(Object.keys(keepOlder({ 'a-1': '' }, digests(1000), true))).toHaveLength(1001);
    expect(keepOlder({ 'a-1': '' }, digests(1001), true)).toEqual({ 'a-1': '' });
  });

  it('drop files of older documents that would not fit in a Secret', () => {
    const large = 'x'.repeat(600_000);
    expect(keepOlder({ 'a-2': large }, { 'a-1': large }, true)).toEqual({ 'a-2': large });
  });
});
