import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { CliError } from '../exit-codes.ts';
import { type EditorPlace, runEditor } from './run-editor.ts';
import { tellLines } from './tell-lines.ts';

interface Editing extends EditorPlace {
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
