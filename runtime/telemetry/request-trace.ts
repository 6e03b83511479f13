import type { IncomingMessage } from 'node:http';
import type { DecodedMessage } from '#runtime/mcp/envelope/decode-request';
import type { Trail } from '#runtime/trail';

/** One thing done for a request, as a span of its own. */
export interface TraceStep {
  /** `traceparent` and `tracestate` for whoever is called in it: flat list of names and values. */
  readonly headers: readonly string[];
  /** A message with this step in the place of the caller's own `_meta.traceparent`; the same bytes where there is none. */
  readonly inMeta: (body: Buffer) => Buffer;
  /** `failure`: a stable word. A second end counts for nothing. */
  end(failure?: string): void;
}

/** What is traced of one request. Nothing of tokens, arguments or results goes in. */
export interface RequestTrace {
  /** 32 hexadecimal digits. */
  readonly id: string;
  /** A decision, a credential: what stays within this process. */
  begin(name: string): TraceStep;
  /** A call of this backend. */
  callBackend(backend: string): TraceStep;
  /** The request is over, once, whatever is traced by then. */
  finish(trail: Trail, milliseconds: number): void;
}

/** Makes spans of requests, or of none while traces are off. */
export interface Tracing {
  /** A request has begun, as far as it was read. undefined: it is not traced. */
  begin(req: IncomingMessage, message: DecodedMessage, startedAt: number): RequestTrace | undefined;
  /**
   * A request is over that has no trace: one that was refused before it was read gets its span now. Returns the id of its
   * trace, where it is kept.
   */
  refused(trail: Trail, milliseconds: number): string | undefined;
  /**
   * Waits up to `grace` milliseconds for the requests that are under way, sends what waits within two seconds, and closes. Asked
   * again, it may have less time.
   */
  close(grace: number): Promise<void>;
}
