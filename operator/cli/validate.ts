import type { ClusterFacts } from '#operator/world';
import type { Context, Format } from './context.ts';
import { checkSnapshot, printProblem } from './check-folder.ts';
import { EXIT_CODES } from './exit-codes.ts';
import { loadManifests } from './load-manifests.ts';
import { printObject } from './print-object.ts';

/**
 * Says what is wrong in manifests: files, folders, or standard input (`-`), for this machine or a cluster. Starts and writes nothing.
 * Returns the exit code.
 */
export async function validate(
  paths: string[],
  format: Format,
  context: Context,
  cluster?: ClusterFacts,
): Promise<number> {
  const whole = paths.join(', ');
  const read = await loadManifests(paths, context);
  const { snapshot, problems, warnings } = await checkSnapshot(read, whole, context, cluster);
  const code = problems.length > 0 ? EXIT_CODES.input : EXIT_CODES.ok;
  if (format !== 'table') {
    context.out.write(printObject({ valid: code === EXIT_CODES.ok, problems, warnings }, format));
    return code;
  }
  for (const problem of problems) context.err.write(`${printProblem(problem)}\n`);
  for (const warning of warnings) context.err.write(`${printProblem(warning)} (warning)\n`);
  const groups = [...new Set(snapshot.manifests.map(({ apiVersion }) => apiVersion))].join(', ');
  const count = `${snapshot.manifests.length} resources${groups === '' ? '' : ` (${groups})`}`;
  const verdict = problems.length === 0 ? 'valid' : `${problems.length} problem${problems.length === 1 ? '' : 's'}`;
  context.out.write(`${whole}: ${count}, ${verdict}\n`);
  return code;
}
