import { readFileSync, statSync } from 'node:fs';
import { codeOf } from '#lib/files/write-file';
import { type FolderContent, listManifestFiles, readFolderContent } from '#local/manifest-folder';
import type { ClusterFacts } from '#operator/snapshot';
import type { Context, Format } from './context.ts';
import { checkFolderContent, printProblem } from './check-folder.ts';
import { CliError, EXIT_CODES } from './exit-codes.ts';
import { printObject } from './print-object.ts';
import type { ManifestFile, Problem } from '#local/resource';
import { readGiven } from './read-given.ts';

/** Applies to a Secret or ConfigMap that no manifest holds. `warn` permits a check of part of a cluster's manifests. */
export type References = 'error' | 'warn';

const NOT_HERE = /\bnames (Secret|ConfigMap) "[^"]*", which does not exist\b/;

interface ValidateOptions {
  readonly output: Format;
  readonly references: References;
  readonly cluster?: ClusterFacts | undefined;
}

/** Reads files, folders, or standard input (`-`), for this machine or a cluster. Starts and writes nothing. */
export async function validate(
  paths: string[],
  { output: format, references, cluster }: ValidateOptions,
  context: Context,
): Promise<number> {
  const whole = paths.join(', ');
  const checked = await checkFolderContent(await loadManifests(paths, context), whole, context, cluster);
  const isWarning = ({ message }: Problem): boolean => references === 'warn' && NOT_HERE.test(message);
  const { folderContent } = checked;
  const problems = checked.problems.filter((problem) => !isWarning(problem));
  const warnings = [...checked.problems.filter(isWarning), ...checked.warnings];
  const code = problems.length > 0 ? EXIT_CODES.input : EXIT_CODES.ok;
  if (format !== 'table') {
    context.out.write(printObject({ valid: code === EXIT_CODES.ok, problems, warnings }, format));
    return code;
  }
  for (const problem of problems) context.err.write(`${printProblem(problem)}\n`);
  for (const warning of warnings) context.err.write(`${printProblem(warning)} (warning)\n`);
  const groups = [...new Set(folderContent.manifests.map(({ apiVersion }) => apiVersion))].join(', ');
  const count = `${folderContent.manifests.length} resources${groups === '' ? '' : ` (${groups})`}`;
  const verdict = problems.length === 0 ? 'valid' : `${problems.length} problem${problems.length === 1 ? '' : 's'}`;
  context.out.write(`${whole}: ${count}, ${verdict}\n`);
  return code;
}

/** Bytes. */
const LONGEST_INPUT = 32 * 1024 * 1024;

async function readPath(path: string, context: Pick<Context, 'input'>): Promise<ManifestFile[]> {
  if (path === '-') return [{ file: path, text: await readGiven(path, LONGEST_INPUT, context) }];
  try {
    if (!statSync(path).isDirectory()) return [{ file: path, text: readFileSync(path, 'utf8') }];
    const files = listManifestFiles(path);
    if (files.length > 0) return files;
  } catch (problem) {
    const code = codeOf(problem);
    if (code === undefined) throw problem;
    throw new CliError(EXIT_CODES.input, `${path} cannot be read (${code}): name a folder or files with manifests`);
  }
  throw new CliError(EXIT_CODES.input, `${path} holds no *.yaml file: name another folder`);
}

/** `-` means standard input. A file that is named twice counts once. */
async function loadManifests(paths: string[], context: Pick<Context, 'input'>): Promise<FolderContent> {
  const files = new Map<string, ManifestFile>();
  for (const path of paths) for (const file of await readPath(path, context)) files.set(file.file, file);
  return readFolderContent([...files.values()]);
}
