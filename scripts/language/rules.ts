/** A text that breaks a rule: the words that break it, and the rule. */
export interface Breach {
  readonly words: string;
  readonly rule: string;
}

const PERSONS = /\b(somebody|someone|anybody|anyone|nobody|everybody|everyone|whoever)\b/gi;
const PHRASES = /\b(what is there|who asks|that which|as it stands)\b/gi;
const FREE_RELATIVE = /^(What|Whatever|Who|Whose)\b/;
const FRONTED = /^Of\b/;
const LONGEST_SENTENCE = 25;

/** Words that names must not have: each has a standard term in place of it. */
const TERMS: ReadonlyMap<string, string> = new Map([
  ['Room', 'services, or quota'],
  ['Rooms', 'services, or quota'],
  ['Turns', 'semaphore'],
  ['Trail', 'request record'],
  ['World', 'snapshot'],
  ['Leg', 'backend session, or login step'],
  ['Legs', 'backend sessions, or login steps'],
  ['Survey', 'catalogue warm-up'],
  ['Announcer', 'list changed notifier'],
  ['News', 'replica event'],
  ['Heard', 'last probe'],
  ['Visitor', 'principal'],
  ['Board', 'local status'],
  ['Shelf', 'index'],
  ['Reminders', 'delayed requeue'],
  ['Succession', 'key rotation'],
  ['Surroundings', 'options, or deps'],
  ['Circumstances', 'options, or deps'],
  ['Around', 'options, or deps'],
  ['Whereabouts', 'options, or deps'],
]);
/** Pairs of words with a standard term, where each word alone is plain. */
const PAIRS = /^(NoTurn|inForce|InForce|bringAbout|underWay|UnderWay|OneAtATime|SharedRead|SharedLook)/;
const CACHED = /^(Kept|Live|Standing)(?=[A-Z]|$)/;

/** Splits running text into sentences. Code and abbreviations do not end one. */
export function sentencesOf(text: string): string[] {
  const plain = text
    .replace(/`[^`]*`/g, (code) => code.replace(/[.!?]/g, '·'))
    .replace(/\b(e\.g|i\.e|etc|vs|cf)\./g, '$1·');
  return plain
    .split(/(?<=[.!?:])\s+(?=[A-Z(`"*[])/)
    .map((sentence) => sentence.trim())
    .filter((sentence) => sentence !== '');
}

/** Finds indefinite persons, empty phrases, and sentences that begin with a free relative or a genitive. */
export function findInProse(text: string): Breach[] {
  const words = (pattern: RegExp, rule: string) =>
    [...text.matchAll(pattern)].map(([found]) => ({ words: found, rule }));
  const openers = sentencesOf(text).flatMap((sentence) => {
    if (sentence.endsWith('?')) return [];
    const start = sentence.split(/\s+/).slice(0, 5).join(' ');
    if (FREE_RELATIVE.test(sentence)) return [{ words: start, rule: 'name the thing: begin with a noun' }];
    return FRONTED.test(sentence) ? [{ words: start, rule: 'begin with the subject' }] : [];
  });
  return [...words(PERSONS, 'name who does it'), ...words(PHRASES, 'name the thing'), ...openers];
}

/** Finds sentences of more than 25 words. */
export function findLongSentences(text: string): Breach[] {
  return sentencesOf(text).flatMap((sentence) => {
    const words = sentence.split(/\s+/);
    if (words.length <= LONGEST_SENTENCE) return [];
    return [{ words: words.slice(0, 6).join(' '), rule: `${words.length} words in a sentence: 25 at most` }];
  });
}

/** Finds a test name that does not begin with a verb of what the unit does. */
export function findInTestName(name: string): Breach[] {
  const [first = ''] = name.split(/\s/);
  if (/^(is|are|that|of|whose)$/.test(first))
    return [{ words: name, rule: 'begin with a verb that says the behaviour' }];
  return [];
}

/** Finds words of a name that have a standard term. `name`: camelCase or PascalCase. */
export function findInName(name: string): Breach[] {
  const plain = name.replace(/^#/, '');
  if (PAIRS.test(plain) || CACHED.test(plain)) return [{ words: name, rule: 'use the standard term' }];
  const parts = plain.replace(/([a-z0-9])([A-Z])/g, '$1 $2').split(/[ _]/);
  return parts.flatMap((part) => {
    const term = TERMS.get(part.charAt(0).toUpperCase() + part.slice(1).toLowerCase());
    return term === undefined ? [] : [{ words: name, rule: `use the standard term: ${term}` }];
  });
}
