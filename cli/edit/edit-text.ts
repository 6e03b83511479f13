import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { CliError } from '../exit-codes.ts';
import { type EditorPlace, runEditor } from './run-editor.ts';
import { tellLines } from './tell-lines.ts';

interface Editing extends EditorPlace {
  /** Suffix of the file name. */
  name: string;
  /** The text to edit. */
  text: string;
  /** Comment lines above the text. */
  about: readonly string[];
  /** Applies the text. @throws CliError; if `mends` applies, the editor opens again with the message */
  apply: (text: string) => Promise<void>;
  mends: (problem: CliError) => boolean;
}

/**
 * Opens the editor until the edited text is applied. An unchanged or empty text cancels. A rejected text that the user leaves unchanged
 * is kept in a file, which the message names. Returns whether the text was applied. @throws CliError
 */
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
  /** The last version from the editor. */
  text: string;
  /** The error for that version. */
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

/** Returns the error as comment lines. Line numbers count from the start of the file, including the comment. */
function tellRefusal({ message }: CliError, text: string, above: number): string[] {
  const { length } = message.split('\n');
  return tellLines(message, text, above + length).split('\n');
}

const comment = (lines: readonly string[]): string =>
  lines.map((line) => (line === '' ? '#\n' : `# ${line}\n`)).join('');

/** Removes the generated comment above the text. */
function withoutAbove(text: string): string {
  const lines = text.replaceAll('\r\n', '\n').split('\n');
  const first = lines.findIndex((line) => !line.startsWith('#'));
  return first < 0 ? '' : lines.slice(first).join('\n');
}
