import type { z } from 'zod';
import type { TypedOperation } from '#management/operation';
import { CliError, EXIT_CODES } from '../exit-codes.ts';

/** Query values are strings, as in a URL. */
interface Ask<P extends z.ZodType, Q extends z.ZodType, B extends z.ZodType> {
  params?: z.input<P>;
  query?: z.input<Q>;
  body?: z.input<B>;
  /** Version from an earlier `etag`. */
  ifMatch?: string | undefined;
}

interface Told<R extends z.ZodType> {
  body: z.output<R>;
  etag: string | undefined;
}

/** Uses HTTP if `vmcp up` runs, else this process. A refused operation throws Refusal; a missing answer throws CliError. */
export interface ManagementApi {
  place: string;
  /** A running server applies changes at once. */
  running: boolean;
  call<P extends z.ZodType, Q extends z.ZodType, B extends z.ZodType, R extends z.ZodType>(
    operation: TypedOperation<P, Q, B, R>,
    ask?: Ask<P, Q, B>,
  ): Promise<Told<R>>;
  /** Yields chunks until the stream ends or the command is stopped. */
  read<P extends z.ZodType, Q extends z.ZodType, B extends z.ZodType, R extends z.ZodType>(
    operation: TypedOperation<P, Q, B, R>,
    ask?: Ask<P, Q, B>,
  ): AsyncIterable<string>;
  close(): Promise<void>;
}

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
