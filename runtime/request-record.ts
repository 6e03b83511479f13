import { randomUUID } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { AuditLine } from '#crds/parts/audit-line';
import type { Identity } from '#runtime/incoming/identity';
import type { BridgeName, Era } from '#runtime/mcp/era';
import type { Decision } from '#runtime/policy/authorizer';
import type { Limit } from '#runtime/rate-limits/limit';
import type { Entry } from '#runtime/in-flight';

export interface TraceStep {
  /** `traceparent` and `tracestate` for a call within the step: flat list of names and values. */
  readonly headers: readonly string[];
  /** Returns a message with this step in place of the caller's `_meta.traceparent`; the same bytes without one. */
  readonly inMeta: (body: Buffer) => Buffer;
  /** `failure`: a stable word. Later calls have no effect. */
  end(failure?: string): void;
}

/** Trace of one request. It contains no tokens, arguments or results. */
export interface RequestTrace {
  /** 32 hexadecimal digits. */
  readonly id: string;
  begin(name: string): TraceStep;
  callBackend(backend: string): TraceStep;
  /** Ends the trace at the end of the request. Called once; open steps may remain. */
  finish(requestRecord: RequestRecord, milliseconds: number): void;
}

/** `tool_error`: the tool answered with `isError`. `failure`: the backend or this gateway answered with an error. */
export type Outcome = AuditLine['outcome'];

/** Record of one request for audit, metrics and log. Each stage adds its facts. */
export class RequestRecord implements Entry {
  earlier: this | undefined;
  later: this | undefined;
  #id: string | undefined;
  readonly req: IncomingMessage;
  /** Milliseconds of the monotonic clock. */
  readonly startedAt: number;
  identity: Identity | undefined;
  era: Era | undefined;
  transport: 'streamable-http' | 'sse' = 'streamable-http';
  revision: string | undefined;
  method: string | undefined;
  rpcId: string | undefined;
  target: string | undefined;
  backend: string | undefined;
  session: string | undefined;
  /** The bridge that translates the call. Undefined: the backend speaks the client's era, or no backend is called. */
  bridge: BridgeName | undefined;
  clientName: string | undefined;
  clientVersion: string | undefined;
  decision: Decision | undefined;
  trace: RequestTrace | undefined;
  /** 32 hexadecimal digits; undefined: the request is not traced. */
  traceId: string | undefined;
  webhook: string | undefined;
  limit: Limit['scope'] | undefined;
  outcome: Outcome = 'success';
  code: string | undefined;
  status = 200;
  isCancelled = false;
  /** Parsed params, if the audit log includes request data. */
  params: unknown;
  /** JSON text of the answer, if the audit log includes response data. */
  answer: string | undefined;

  /** Id of the request in log and audit, generated on first use. */
  get id(): string {
    return (this.#id ??= randomUUID());
  }

  constructor(req: IncomingMessage, startedAt: number) {
    this.req = req;
    this.startedAt = startedAt;
  }
}
