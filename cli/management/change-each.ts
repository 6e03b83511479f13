import { CliError } from '../exit-codes.ts';

/** A failure does not stop the others. @throws CliError after all attempts, with all messages and the first failure's code */
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
