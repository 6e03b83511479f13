import { checkLanguage } from './check-language.ts';

/** Prefixes of files whose comments, pages and test names are checked before each commit. */
const PROSE: readonly string[] = ['lib/', 'scripts/language/'];
/** Prefixes of files whose declared names are checked, too. */
const NAMES: readonly string[] = ['lib/', 'scripts/language/'];

/** Finds breaches of the language rules in the files that must have none. Returns one line for each. */
export function findEnforced(root: string): string[] {
  return checkLanguage(root)
    .filter(({ file, kind }) => (kind === 'name' ? NAMES : PROSE).some((prefix) => file.startsWith(prefix)))
    .map(({ file, line, words, rule }) => `${file}:${line} ${words}: ${rule}`);
}
