import { CliError } from '../exit-codes.ts';

/**
 * Does something with each of some names, each once. What fails keeps none of the others away.
 * @throws CliError with the words of all failures and the code of the first, after all were tried
 */
export async function changeEach(names: readonly string[], change: (name: string) => Promise<unknown>): Promise<void> {
  const failures: CliError[] = [];
  for (const name of new Set(names)) {
    try {
      await change(name);
    } catch (problem) {
      if (!(problem instanceof CliError)) throw problem;
      failures.push(problem);
    }
  }
  const [first] = failures;
  if (first) throw new CliError(first.exitCode, failures.map(({ message }) => message).join('\n'), { cause: first });
}
