import type { z } from 'zod';
import { CliError, EXIT_CODES } from '../exit-codes.ts';

/** @throws CliError when another version of vmcp answers */
export function readResult<R extends z.ZodType>(result: R, body: unknown): z.output<R> {
  const read = result.safeParse(body);
  if (read.success) return read.data;
  const [issue] = read.error.issues;
  const where = issue === undefined ? '' : ` (${issue.path.join('.')}: ${issue.message})`;
  throw new CliError(
    EXIT_CODES.failed,
    `what runs here answers as another version of vmcp does${where}: stop it with vmcp down, and start it again`,
  );
}
