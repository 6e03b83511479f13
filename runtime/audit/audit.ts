import type { AuditEventType } from '#crds/parts/audit';
import type { BridgeName } from '#runtime/mcp/era';
import type { Decision } from '#runtime/policy/authorizer';
import type { Outcome } from '#runtime/request-record';

/** One audit event. The audit stream adds `logged_at`, `component` and, if absent, `audit_id`. */
export interface AuditEvent {
  readonly type: AuditEventType;
  readonly outcome: Outcome;
  /** Id of the request; the same in log and audit. */
  readonly audit_id?: string;
  /** Address of the client. A forwarding header counts only if a trusted proxy wrote it. */
  readonly source?: string | undefined;
  readonly subjects?: {
    readonly user?: string | undefined;
    readonly user_id?: string | undefined;
    readonly client_name?: string | undefined;
    readonly client_version?: string | undefined;
  };
  readonly target?: {
    readonly endpoint?: string | undefined;
    readonly method?: string | undefined;
    readonly type?: string | undefined;
    readonly name?: string | undefined;
    readonly backend?: string | undefined;
  };
  readonly metadata?: {
    readonly duration_ms?: number;
    readonly transport?: string | undefined;
    readonly revision?: string | undefined;
    /** The bridge that translated the call. */
    readonly bridge?: BridgeName | undefined;
    readonly session?: string | undefined;
    readonly trace_id?: string | undefined;
  };
  /** The policies that decided the call. */
  readonly policies?: Decision['policies'] | undefined;
  /** Always written if present, e.g. the code of a failure. Never contains client input. */
  readonly details?: Readonly<Record<string, unknown>>;
  /** Parameters of the request: a value, or its JSON text. Written only with `includeRequestData`. */
  readonly request?: unknown;
  /** The result: a value, or its JSON text. Written only with `includeResponseData`. */
  readonly response?: unknown;
}

/** Audit stream of one runtime. Recording never waits and never throws. */
export interface Audit {
  /** Returns whether the stream writes events of this type. If not, callers need not build them. */
  wants(type: AuditEventType): boolean;
  readonly wantsRequest: boolean;
  readonly wantsResponse: boolean;
  record(event: AuditEvent): void;
  reopen(): void;
  /** Writes the buffered lines for at most `deadline` milliseconds, then drops and counts the others. */
  close(deadline: number): Promise<void>;
}
