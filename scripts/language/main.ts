// Prints breaches of the language rules, one line each: all, or those of files whose path begins with an argument.
import { join } from 'node:path';
import { checkLanguage } from './check-language.ts';

const ROOT = join(import.meta.dirname, '../..');
const prefixes = process.argv.slice(2);
const isMeant = (file: string) => prefixes.length === 0 || prefixes.some((prefix) => file.startsWith(prefix));
const findings = checkLanguage(ROOT).filter(({ file }) => isMeant(file));
for (const { file, line, words, rule } of findings) console.log(`${file}:${line} ${words}: ${rule}`);
console.log(`${findings.length} breaches`);
process.exitCode = findings.length === 0 ? 0 : 1;
