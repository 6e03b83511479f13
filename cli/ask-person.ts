import { createInterface } from 'node:readline';
import { Writable } from 'node:stream';
import type { Context, Output } from './context.ts';
import { CliError, EXIT_CODES } from './exit-codes.ts';
import { shownLine, writeRaw } from './shown-output.ts';

type Terminal = Pick<Context, 'input' | 'err'>;

export const isAnswered = ({ input, err }: Terminal): boolean => input.isTTY === true && err.isTTY === true;

const nowhere = (): Writable => new Writable({ write: (_part, _encoding, done) => done() });

const shownOn = (err: Output): Writable =>
  new Writable({
    write(part, _encoding, done) {
      writeRaw(err, String(part));
      done();
    },
  });

/** Hides the input if `hidden`. Check `isAnswered` first. @throws CliError when the user cancels */
export function askPerson(question: string, { input, err }: Terminal, hidden = false): Promise<string> {
  return new Promise((resolve, reject) => {
    // readline echoes all input to its output. For hidden input, only the question is written.
    const output = hidden ? nowhere() : shownOn(err);
    const lines = createInterface({ input, output, terminal: true, historySize: 0 });
    if (hidden) err.write(question);
    else lines.setPrompt(`${shownLine(question)} `);
    let answer: string | undefined;
    lines.once('line', (line) => {
      answer = line;
      lines.close();
    });
    lines.once('SIGINT', () => lines.close());
    lines.once('close', () => {
      if (hidden) err.write('\n');
      if (answer === undefined) reject(new CliError(EXIT_CODES.failed, 'broken off: nothing was changed'));
      else resolve(answer);
    });
    if (!hidden) lines.prompt();
  });
}
