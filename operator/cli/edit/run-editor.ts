import { spawn } from 'node:child_process';
import { CliError, EXIT_CODES } from '../exit-codes.ts';

/** Opens a file in the person's editor (VISUAL, EDITOR, else vi), and waits for its end. @throws CliError where it fails */
export async function runEditor(file: string, environment: NodeJS.ProcessEnv): Promise<void> {
  const chosen = [environment.VISUAL, environment.EDITOR].find((one) => one !== undefined && one !== '') ?? 'vi';
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
