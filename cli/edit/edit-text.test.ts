import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { CliError } from '../exit-codes.ts';
import { editText } from './edit-text.ts';
import { tellLines } from './tell-lines.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'vmcp-editor-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

/** Returns an editor that runs one shell line each time it is opened, and records its input. */
function editor(...lines: string[]): NodeJS.ProcessEnv {
  const path = join(folder, 'my editor');
  const cases = lines.map((line, index) => `${index + 1}) ${line} ;;`).join('\n');
  writeFileSync(
    path,
    `#!/bin/sh
count=$(($(cat '${folder}/count' 2>/dev/null || echo 0) + 1)); echo $count > '${folder}/count'
cp "$1" '${folder}/shown-'$count; echo "$1" > '${folder}/path'
case $count in
${cases}
esac
`,
  );
  chmodSync(path, 0o755);
  return { PATH: '/usr/bin:/bin', VISUAL: '', EDITOR: `'${path}'` };
}
const shown = (count: number): string => readFileSync(join(folder, `shown-${count}`), 'utf8');
const path = (): string => readFileSync(join(folder, 'path'), 'utf8').trim();

function edit(
  environment: NodeJS.ProcessEnv,
  apply: (text: string) => Promise<void> = () => Promise.resolve(),
  hasTerminal = false,
) {
  const about = ['Edit it.', '', 'Twice.'];
  const mends = ({ exitCode }: CliError) => exitCode === 1;
  return editText({ name: 'cup', text: 'size: 1\n', about, environment, hasTerminal, apply, mends });
}

describe('editText', () => {
  it('shows the text with its comment, applies the edited text, and leaves no file', async () => {
    const applied: string[] = [];
    const done = await edit(editor('echo "size: 2 # big" > "$1"'), (text) => {
      applied.push(text);
      return Promise.resolve();
    });
    expect(done).toBe(true);
    expect(shown(1)).toBe('# Edit it.\n#\n# Twice.\nsize: 1\n');
    expect(applied).toEqual(['size: 2 # big\n']);
    expect(path()).toMatch(/cup\.yaml$/);
    expect(existsSync(path())).toBe(false);
  });

  it.each([
    ['is closed as it was', 'true'],
    ['is emptied', ': > "$1"'],
  ])('does nothing if the text %s', async (_, line) => {
    const apply = () => Promise.reject(new Error('not to be called'));
    expect(await edit(editor(line), apply)).toBe(false);
    expect(existsSync(path())).toBe(false);
  });

  it('opens again with the error until the text is valid', async () => {
    const applied: string[] = [];
    const done = await edit(editor('echo "size: x" > "$1"', 'echo "size: 3" > "$1"'), (text) => {
      applied.push(text);
      return text.includes('x') ? Promise.reject(new CliError(1, 'size: no number\nwrite one')) : Promise.resolve();
    });
    expect(done).toBe(true);
    // Line numbers count the comment above the text.
    expect(shown(2)).toBe('# Edit it.\n#\n# Twice.\n#\n# line 7: size: no number\n# write one\nsize: x\n');
    expect(applied).toEqual(['size: x\n', 'size: 3\n']);
  });

  it('keeps the text when the user gives up, and rejects with the code of the refusal', async () => {
    const failing = edit(editor('echo "size: x" > "$1"', 'true'), () => Promise.reject(new CliError(1, 'no number')));
    await expect(failing).rejects.toMatchObject({ exitCode: 1, message: expect.stringContaining('your text is in /') });
    await expect(failing).rejects.toThrow(path());
    expect(readFileSync(path(), 'utf8')).toBe('size: x\n');
    rmSync(join(path(), '..'), { recursive: true });
  });

  it('keeps the text if the editor fails when it opens again', async () => {
    const failing = edit(editor('echo "size: x" > "$1"', 'exit 3'), () => Promise.reject(new CliError(1, 'no number')));
    await expect(failing).rejects.toThrow('ended with 3');
    await expect(failing).rejects.toThrow(`your text is in ${path()}`);
    expect(readFileSync(path(), 'utf8')).toBe('size: x\n');
    rmSync(join(path(), '..'), { recursive: true });
  });

  it('does not open again if editing cannot fix the error', async () => {
    const failing = edit(editor('echo "size: 2" > "$1"'), () => Promise.reject(new CliError(7, 'it has changed')));
    await expect(failing).rejects.toMatchObject({ exitCode: 7, message: expect.stringContaining('your text is in') });
    expect(readFileSync(join(folder, 'count'), 'utf8')).toBe('1\n');
    rmSync(join(path(), '..'), { recursive: true });
  });

  it('rejects if the editor fails or is missing', async () => {
    await expect(edit(editor('exit 3'))).rejects.toThrow('ended with 3');
    expect(existsSync(path())).toBe(false);
    await expect(edit({ PATH: '/usr/bin:/bin', EDITOR: '/nowhere/edit' })).rejects.toThrow('it is not there');
  });

  it('opens vi only on a terminal, and names the alternatives', async () => {
    const bin = join(folder, 'bin');
    mkdirSync(bin);
    writeFileSync(join(bin, 'vi'), `#!/bin/sh\necho "size: 2" > "$1"\n`, { mode: 0o755 });
    const environment = { PATH: `${bin}:/usr/bin:/bin` };
    await expect(edit(environment)).rejects.toMatchObject({ exitCode: 2, message: expect.stringContaining('--file') });
    expect(await edit(environment, undefined, true)).toBe(true);
  });
});

describe('tellLines', () => {
  const text = 'name: cups\nsecrets:\n  - name: a/b\n    target: KEY\ngroup: dev\nsame: dev\n';

  it.each([
    ['name: cannot be changed', 'line 1: name: cannot be changed'],
    ['secrets[0].target: no name', 'line 4: secrets[0].target: no name'],
    ['secrets.0.target: no name', 'line 4: secrets.0.target: no name'],
    ['secrets[0].missing: write one', 'line 3: secrets[0].missing: write one'],
    ['the text: Unrecognized key: "same"', 'line 6: the text: Unrecognized key: "same"'],
    ['there is no secret "a/b": store it first', 'line 3: there is no secret "a/b": store it first'],
    ['there is no group "dev", which stands there twice', 'there is no group "dev", which stands there twice'],
    ['nothing that stands there: "x"', 'nothing that stands there: "x"'],
    ['name: one\ngroup: two', 'line 1: name: one\nline 5: group: two'],
  ])('adds the line to a message: %s', (message, told) => {
    expect(tellLines(message, text)).toBe(told);
  });

  it('adds the line in a text that is no YAML, and below a comment', () => {
    expect(tellLines('not YAML: odd at line 2, column 3:', 'a: [\n', 4)).toBe('not YAML: odd at line 6, column 3:');
    expect(tellLines('group: no', text, 3)).toBe('line 8: group: no');
  });
});
