import { spawn } from 'node:child_process';
import { CliError, EXIT_CODES } from '../exit-codes.ts';

/** Where an editor is opened. */
export interface EditorPlace {
  environment: NodeJS.ProcessEnv;
  /** Whether somebody is there who types. */
  hasTerminal: boolean;
}

/** Opens a file in the person's editor (VISUAL, EDITOR, else on a terminal vi), and waits for its end. @throws CliError where it fails */
export async function runEditor(file: string, { environment, hasTerminal }: EditorPlace): Promise<void> {
  const named = [environment.VISUAL, environment.EDITOR].find((one) => one !== undefined && one !== '');
  if (named === undefined && !hasTerminal) {
    const remedy =
      'give the text by --file (- is the standard input), or set EDITOR to a program that needs no terminal';
    throw new CliError(EXIT_CODES.usage, `there is no terminal for an editor: ${remedy}`);
  }
  const chosen = named ?? 'vi';
  // Editors are written with options, and in quotes where their path has spaces: as a shell reads them.
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
