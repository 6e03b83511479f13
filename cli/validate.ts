import type { ClusterFacts } from '#operator/snapshot';
import type { Context, Format } from './context.ts';
import { checkFolderContent, printProblem } from './check-folder.ts';
import { EXIT_CODES } from './exit-codes.ts';
import { loadManifests } from './load-manifests.ts';
import { printObject } from './print-object.ts';
import type { Problem } from '#local/resource';

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
