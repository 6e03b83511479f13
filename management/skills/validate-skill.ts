import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { Problem } from '../problem.ts';
import { defined } from '#operator/plan/defined';
import type { SkillMetadata } from '../records/skill.ts';
import { listTree, type TreeFile } from './list-tree.ts';
import { type FrontMatter, readFrontMatter, wordsOf } from './read-front-matter.ts';

const LONGEST = 1_048_576;
const MOST_LINES = 500;
const MOST_REQUIRED = 20;

export interface ValidatedSkill {
  errors: string[];
  warnings: string[];
  found: { metadata: SkillMetadata; requires: string[]; files: TreeFile[] } | undefined;
}

/** `directory` is the name that the skill must have, too. @throws errors of the file system */
export async function validateSkill(folder: string, directory: string | undefined): Promise<ValidatedSkill> {
  const listed = await filesOf(folder);
  if (!Array.isArray(listed)) return refused(listed.error);
  if (!listed.some(({ path }) => path === 'SKILL.md'))
    return refused('SKILL.md: is not there; a skill has one at its root');
  const text = await readSkillText(join(folder, 'SKILL.md'));
  if (text === undefined) return refused(`SKILL.md: is longer than ${LONGEST} bytes, or no UTF-8`);
  const { matter, errors } = readFrontMatter(text);
  const warnings = warningsOf(text, matter);
  if (matter === undefined) return { errors, warnings, found: undefined };
  const problems = problemsOf(matter, directory);
  if (problems.length > 0) return { errors: problems, warnings, found: undefined };
  return { errors: [], warnings, found: { metadata: metadataOf(matter), requires: requiresOf(matter), files: listed } };
}

const refused = (error: string): ValidatedSkill => ({ errors: [error], warnings: [], found: undefined });

async function filesOf(folder: string): Promise<TreeFile[] | { error: string }> {
  try {
    return await listTree(folder);
  } catch (error) {
    if (error instanceof Problem) return { error: error.message };
    throw error;
  }
}

async function readSkillText(path: string): Promise<string | undefined> {
  if ((await stat(path)).size > LONGEST) return undefined;
  const bytes = await readFile(path);
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return undefined;
  }
}

function problemsOf(matter: FrontMatter, directory: string | undefined): string[] {
  const { name } = matter;
  const wrongName = `SKILL.md name: is "${name}", and the folder "${directory ?? ''}"; give both the same name`;
  const tooMany = `SKILL.md requires: has more than ${MOST_REQUIRED} entries; remove some`;
  return [
    ...(directory !== undefined && directory !== name ? [wrongName] : []),
    ...(requiresOf(matter).length > MOST_REQUIRED ? [tooMany] : []),
  ];
}

function warningsOf(text: string, matter: FrontMatter | undefined): string[] {
  const tools = matter?.['allowed-tools'];
  const lines = text.split('\n').length;
  return [
    ...(typeof tools === 'string' && tools.includes(',')
      ? ['SKILL.md allowed-tools: has commas; separate tools by spaces']
      : []),
    ...(lines > MOST_LINES
      ? [`SKILL.md: has ${lines} lines; move what is not always needed to other files (at most ${MOST_LINES})`]
      : []),
  ];
}

function requiresOf({ metadata, requires }: FrontMatter): string[] {
  return [...new Set(wordsOf(requires ?? metadata?.requires))];
}

function metadataOf(matter: FrontMatter): SkillMetadata {
  const { name, description, metadata } = matter;
  const version = matter.version ?? metadata?.version;
  const tags = wordsOf(matter.tags ?? metadata?.tags);
  return defined({
    name,
    description,
    version: version === undefined ? undefined : String(version),
    author: matter.author ?? metadata?.author,
    tags: tags.length > 0 ? tags : undefined,
  });
}
