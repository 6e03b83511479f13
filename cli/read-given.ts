import { createReadStream } from 'node:fs';
import { codeOf } from '#lib/files/write-file';
import type { Context } from './context.ts';
import { CliError, EXIT_CODES } from './exit-codes.ts';

/** `-` means standard input. @throws CliError that names the file, never its content */
export async function readGiven(file: string, longest: number, { input }: Pick<Context, 'input'>): Promise<string> {
  const where = file === '-' ? 'standard input' : file;
  const parts: Buffer[] = [];
  let length = 0;
  try {
    // A stream is needed: a synchronous read of an empty pipe fails with EAGAIN.
    for await (const part of file === '-' ? input : createReadStream(file)) {
      const bytes = Buffer.from(part as Buffer | string);
      parts.push(bytes);
      length += bytes.length;
      if (length > longest) throw new CliError(EXIT_CODES.input, `${where} is longer than ${longest} bytes`);
    }
  } catch (cause) {
    if (cause instanceof CliError) throw cause;
    throw new CliError(EXIT_CODES.input, `${where} cannot be read (${codeOf(cause) ?? 'unknown'})`, { cause });
  }
  return Buffer.concat(parts, length).toString();
}

export const withoutLineBreak = (text: string): string => text.replace(/\r?\n$/, '');
