// Checks a commit: generated files, lint, types, unused code, the features page, links, import circles and the language rules.
// Fails if a file is left out of the commit. Staged files count as part of it.
import { spawn, spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { checkCircles } from './check-circles.ts';
import { checkFeatures } from './check-features.ts';
import { checkLinks } from './check-links.ts';
import { inTurn, type Say } from './in-turn.ts';
import { checkLanguage } from './language/check-language.ts';

const ROOT = join(import.meta.dirname, '..');

/** Commands that write generated files; each must leave the tree as it was. */
const GENERATE = ['generate', 'golden'];
/** Read-only commands, which run concurrently. */
const CHECK = ['lint', 'types', 'unused'];

/** Runs a script of the package and prints its output. Resolves with whether it succeeded. */
function run(script: string, say: Say): Promise<boolean> {
  say(`== ${script} ==\n`);
  const child = spawn('npm', ['run', '--silent', script], { cwd: ROOT, stdio: ['ignore', 'pipe', 'pipe'] });
  child.stdout.on('data', say);
  child.stderr.on('data', say);
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code) => resolve(code === 0));
  });
}

function git(...args: string[]): string[] {
  const { status, stdout } = spawnSync('git', args, { cwd: ROOT, encoding: 'utf8' });
  if (status !== 0) throw new Error(`git ${args.join(' ')} failed: verify compares with what is committed`);
  return stdout.split('\n').filter((line) => line !== '');
}

/** Returns files that differ from the index or the commit, and untracked files. */
function differences(): string[] {
  const changed = git('diff', '--name-only').map((file) => `differs: ${file}`);
  const unknown = git('ls-files', '--others', '--exclude-standard').map((file) => `untracked: ${file}`);
  return [...changed, ...unknown];
}

const print: Say = (part) => void process.stdout.write(part);
const failed: string[] = [];
for (const script of GENERATE) if (!(await run(script, print))) failed.push(script);
const checks = CHECK.map((script) => (say: Say) => run(script, say));
const passed = await inTurn(checks, print);
failed.push(...CHECK.filter((_, index) => !passed[index]));
console.log('== features page ==');
const problems = checkFeatures(ROOT);
console.log('== links ==');
const astray = checkLinks(ROOT);
console.log('== import circles ==');
const circles = checkCircles(ROOT);
console.log('== language ==');
const breaches = checkLanguage(ROOT).map(({ file, line, words, rule }) => `${file}:${line} ${words}: ${rule}`);
console.log('== differences ==');
const left = differences();
for (const line of [...problems, ...astray, ...circles, ...breaches, ...left]) console.error(line);
if (left.length > 0) console.error('stage what belongs to the commit (git add), remove the rest, and verify again');
if (problems.length > 0) failed.push('features page');
if (astray.length > 0) failed.push('links');
if (circles.length > 0) failed.push('import circles');
if (breaches.length > 0) failed.push('language');
if (left.length > 0) failed.push('differences');
console.log(failed.length === 0 ? 'verified' : `failed: ${failed.join(', ')}`);
process.exitCode = failed.length === 0 ? 0 : 1;
