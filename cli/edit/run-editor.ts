import { spawn } from 'node:child_process';
import { CliError, EXIT_CODES } from '../exit-codes.ts';

export interface EditorPlace {
  environment: NodeJS.ProcessEnv;
  hasTerminal: boolean;
}

/** Uses VISUAL, EDITOR, or vi on a terminal. @throws CliError when the editor fails */
export async function runEditor(file: string, { environment, hasTerminal }: EditorPlace): Promise<void> {
  const named = [environment.VISUAL, environment.EDITOR].find((one) => one !== undefined && one !== '');
  if (named === undefined && !hasTerminal) {
    const remedy =
      'give the text by --file (- is the standard input), or set EDITOR to a program that needs no terminal';
    throw new CliError(EXIT_CODES.usage, `there is no terminal for an editor: ${remedy}`);
  }
  const chosen = named ?? 'vi';
  // A shell parses the setting, because it may contain options, and quotes around a path with spaces.
  const child = spawn('sh', ['-c', `${chosen} "$1"`, 'sh', file], { stdio: 'inherit', env: environment });
  const code = await new Promise<number | null>((resolve) => {
    child.once('error', () => resolve(127));
    child.once('close', resolve);
  });
  if (code === 0) return;
  const remedy = code === 127 ? ': it is not there; set EDITOR to one that is' : '';
  throw new CliError(
    EXIT_CODES.failed,
    `the editor ${chosen} ended with ${code ?? 'a signal'}${remedy}; nothing was changed`,
  );
}
