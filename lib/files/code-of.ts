/** Returns the code of an error of the operating system or of Node, e.g. `ENOENT`; undefined for other values. Codes contain no secret. */
export function codeOf(problem: unknown): string | undefined {
  if (typeof problem !== 'object' || problem === null || !('code' in problem)) return undefined;
  return typeof problem.code === 'string' ? problem.code : undefined;
}
