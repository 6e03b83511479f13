import { randomUUID } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { Identity } from '#runtime/incoming/identity';
import type { Era } from '#runtime/mcp/era';
import type { Decision } from '#runtime/policy/authorizer';
import type { Limit } from '#runtime/rate-limits/limit';
import type { Entry } from '#runtime/under-way';

/** One thing done for a request, as a span of its own. */
export interface TraceStep {
  /** `traceparent` and `tracestate` for requests of this step: flat list of names and values. */
  readonly headers: readonly string[];
  /** A message with this step in the place of the caller's own `_meta.traceparent`; the same bytes where there is none. */
  readonly inMeta: (body: Buffer) => Buffer;
  /** `failure`: a stable word. A second end counts for nothing. */
  end(failure?: string): void;
}

/** The trace of one request. It has no tokens, arguments or results. */
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

/** `tool_error`: the tool answered with `isError`. `failure`: the backend or this gateway answered with an error. */
export type Outcome = 'success' | 'tool_error' | 'failure' | 'error' | 'denied';

/** What is known of one request, for audit, metrics and log; filled in as it goes through the rooms. */
export class Trail implements Entry {
  earlier: this | undefined;
  later: this | undefined;
  #id: string | undefined;
  readonly req: IncomingMessage;
  /** Milliseconds of the monotonic clock. */
  readonly startedAt: number;
  identity: Identity | undefined;
  era: Era | undefined;
  /** How the client sends its messages. */
  transport: 'streamable-http' | 'sse' = 'streamable-http';
  revision: string | undefined;
  /** JSON-RPC method; undefined before the body was read. */
  method: string | undefined;
  rpcId: string | undefined;
  /** Advertised name or URI of what is called. */
  target: string | undefined;
  backend: string | undefined;
  /** Its name in logs, see `sessionLogId`. */
  session: string | undefined;
  clientName: string | undefined;
  clientVersion: string | undefined;
  decision: Decision | undefined;
  /** undefined: it is not traced. */
  trace: RequestTrace | undefined;
  /** 32 hexadecimal digits; undefined: it is not traced. */
  traceId: string | undefined;
  /** The webhook that did not let the call through. */
  webhook: string | undefined;
  /** The kind of rate limit that did not let it through. */
  limit: Limit['scope'] | undefined;
  outcome: Outcome = 'success';
  /** Code of the error, where there was one. */
  code: string | undefined;
  status = 200;
  /** The client cancelled it before it was sent to a backend. */
  isCancelled = false;
  /** Parsed params, where the audit log asks for request data. */
  params: unknown;
  /** JSON text of the answer, where the audit log asks for response data. */
  answer: string | undefined;

  /** Names the request in log and audit; made when it is asked for. */
  get id(): string {
    return (this.#id ??= randomUUID());
  }

  constructor(req: IncomingMessage, startedAt: number) {
    this.req = req;
    this.startedAt = startedAt;
  }
}
