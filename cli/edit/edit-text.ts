import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { CliError, EXIT_CODES } from '../exit-codes.ts';
import { tellLines } from './tell-lines.ts';

interface Editing extends EditorOptions {
  name: string;
  text: string;
  about: readonly string[];
  /** @throws CliError; if `mends` applies, the editor opens again with the message */
  apply: (text: string) => Promise<void>;
  mends: (problem: CliError) => boolean;
}

/** Cancels on an unchanged or empty text. Keeps a rejected text in a file that the message names. @throws CliError */
export async function editText(editing: Editing): Promise<boolean> {
  const folder = mkdtempSync(join(tmpdir(), 'vmcp-edit-'));
  const file = join(folder, `${editing.name}.yaml`);
  const progress: Progress = { text: editing.text, refused: undefined };
  try {
    const done = await editIn(file, editing, progress);
    if (!progress.refused || done) return done;
    throw progress.refused;
  } catch (problem) {
    if (!progress.refused || !(problem instanceof CliError)) throw problem;
    writeFileSync(file, progress.text, { mode: 0o600 });
    const told = tellLines(problem.message, progress.text);
    throw new CliError(problem.exitCode, `${told}\nnothing was changed; your text is in ${file}`);
  } finally {
    if (!progress.refused) rmSync(folder, { recursive: true });
  }
}

interface Progress {
  text: string;
  refused: CliError | undefined;
}

async function editIn(file: string, { about, apply, mends, ...place }: Editing, progress: Progress): Promise<boolean> {
  for (;;) {
    const { text, refused } = progress;
    const above = comment(refused ? [...about, '', ...tellRefusal(refused, text, about.length + 1)] : about);
    writeFileSync(file, `${above}${text}`, { mode: 0o600 });
    await runEditor(file, place);
    const edited = withoutAbove(readFileSync(file, 'utf8'));
    if (edited.trim() === '' || edited === text) return false;
    progress.text = edited;
    try {
      await apply(edited);
      progress.refused = undefined;
      return true;
    } catch (problem) {
      if (!(problem instanceof CliError)) throw problem;
      progress.refused = problem;
      if (!mends(problem)) return false;
    }
  }
}

/** Line numbers count from the start of the file, including the comment. */
function tellRefusal({ message }: CliError, text: string, above: number): string[] {
  const { length } = message.split('\n');
  return tellLines(message, text, above + length).split('\n');
}

const comment = (lines: readonly string[]): string =>
  lines.map((line) => (line === '' ? '#\n' : `# ${line}\n`)).join('');

function withoutAbove(text: string): string {
  const lines = text.replaceAll('\r\n', '\n').split('\n');
  const first = lines.findIndex((line) => !line.startsWith('#'));
  return first < 0 ? '' : lines.slice(first).join('\n');
}

interface EditorOptions {
  environment: NodeJS.ProcessEnv;
  hasTerminal: boolean;
}

/** Uses VISUAL, EDITOR, or vi on a terminal. @throws CliError when the editor fails */
async function runEditor(file: string, { environment, hasTerminal }: EditorOptions): Promise<void> {
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
