import type { z } from 'zod';
import type { TypedOperation } from '#management/operation';

/** Parameters of an operation; unused parts are omitted. Query values are strings, as in a URL. */
interface Ask<P extends z.ZodType, Q extends z.ZodType, B extends z.ZodType> {
  params?: z.input<P>;
  query?: z.input<Q>;
  body?: z.input<B>;
  /** The version from an earlier `etag`. */
  ifMatch?: string | undefined;
}

interface Told<R extends z.ZodType> {
  body: z.output<R>;
  /** Version of the object that was read or written. */
  etag: string | undefined;
}

/**
 * The management API operations for one namespace: by HTTP if `vmcp up` runs, else in this process. A refused operation throws Refusal; a
 * missing answer throws CliError.
 */
export interface ManagementApi {
  /** Location for messages. */
  place: string;
  /** Whether a running server applies changes at once. */
  running: boolean;
  call<P extends z.ZodType, Q extends z.ZodType, B extends z.ZodType, R extends z.ZodType>(
    operation: TypedOperation<P, Q, B, R>,
    ask?: Ask<P, Q, B>,
  ): Promise<Told<R>>;
  /** Runs an operation with a text stream. Yields chunks until the stream ends or the command is stopped. */
  read<P extends z.ZodType, Q extends z.ZodType, B extends z.ZodType, R extends z.ZodType>(
    operation: TypedOperation<P, Q, B, R>,
    ask?: Ask<P, Q, B>,
  ): AsyncIterable<string>;
  close(): Promise<void>;
}
