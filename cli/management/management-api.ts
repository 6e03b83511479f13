import type { z } from 'zod';
import type { TypedOperation } from '#management/operation';

/** What an operation is given: parts that it does not take are left out. Values of the query are text, as in a URL. */
interface Ask<P extends z.ZodType, Q extends z.ZodType, B extends z.ZodType> {
  params?: z.input<P>;
  query?: z.input<Q>;
  body?: z.input<B>;
  /** Version that was read, as `etag` gave it. */
  ifMatch?: string | undefined;
}

interface Told<R extends z.ZodType> {
  body: z.output<R>;
  /** Version of what was read or written. */
  etag: string | undefined;
}

/**
 * The operations of the management API, of one namespace: by HTTP where `vmcp up` runs, in this process otherwise. What is refused is
 * a Refusal; what does not answer a CliError.
 */
export interface ManagementApi {
  /** Where it is, for people. */
  place: string;
  /** Whether what is changed is taken over at once: something runs. */
  running: boolean;
  call<P extends z.ZodType, Q extends z.ZodType, B extends z.ZodType, R extends z.ZodType>(
    operation: TypedOperation<P, Q, B, R>,
    ask?: Ask<P, Q, B>,
  ): Promise<Told<R>>;
  /** The same for an operation that answers lines: pieces of text as they come, until it ends or the command is stopped. */
  read<P extends z.ZodType, Q extends z.ZodType, B extends z.ZodType, R extends z.ZodType>(
    operation: TypedOperation<P, Q, B, R>,
    ask?: Ask<P, Q, B>,
  ): AsyncIterable<string>;
  close(): Promise<void>;
}
