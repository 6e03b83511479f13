import { describe, expect, it } from '@jest/globals';
import { findInName, findInProse, findInTestName, findLongSentences, sentencesOf } from './rules.ts';

const rulesOf = (breaches: readonly { rule: string }[]) => breaches.map(({ rule }) => rule);

describe('findInProse', () => {
  it.each([
    ['Somebody wrote it by hand.', 'name who does it'],
    ['The queue waits for whoever comes last.', 'name who does it'],
    ['The server lists what is there.', 'name the thing'],
    ['What was planned meanwhile does not hold.', 'name the thing: begin with a noun'],
    ['Reads the list. Who comes while it is read shares the next time.', 'name the thing: begin with a noun'],
    ['Of entries of one name the first counts.', 'begin with the subject'],
  ])('rejects %p', (text, rule) => {
    expect(rulesOf(findInProse(text))).toEqual([rule]);
  });

  it.each([
    'The planner rejects duplicate names.',
    'What happens on a reload? The runtime keeps its sessions.',
    'Returns the policies. RFC 8693 §2.2.1 leaves `expires_in. Of` optional.',
  ])('accepts %p', (text) => {
    expect(findInProse(text)).toEqual([]);
  });
});

describe('findLongSentences', () => {
  const words = (count: number) => `The ${'word '.repeat(count - 2)}end.`;

  it('accepts 25 words and rejects 26', () => {
    expect(findLongSentences(`${words(25)} ${words(25)}`)).toEqual([]);
    expect(rulesOf(findLongSentences(words(26)))).toEqual(['26 words in a sentence: 25 at most']);
  });
});

describe('sentencesOf', () => {
  it('keeps code and abbreviations in one sentence', () => {
    expect(sentencesOf('Reads `a. B`, e.g. It stays. Then it ends.')).toHaveLength(2);
  });
});

describe('findInTestName', () => {
  it.each(['is refused', 'that is met', 'of two names', 'whose token expired'])('rejects %p', (name) => {
    expect(findInTestName(name)).toHaveLength(1);
  });

  it('accepts a name that begins with another verb', () => {
    expect(findInTestName('rejects an expired token')).toEqual([]);
  });
});

describe('findInName', () => {
  it.each(['Rooms', 'obligingWorld', 'RequestTrail', 'inForce', 'KeptBytes', 'liveCopy2Leg', '#heard'])(
    'rejects %p',
    (name) => {
      expect(findInName(name)).toHaveLength(1);
    },
  );

  it.each(['RequestRecord', 'snapshot', 'alive', 'kept', 'legal', 'turnout'])('accepts %p', (name) => {
    expect(findInName(name)).toEqual([]);
  });
});
