import type { AuditEventType } from '#crds/parts/audit';

export type AuditOutcome = 'success' | 'tool_error' | 'failure' | 'error' | 'denied';

/** One thing that happened, as its line says it; the line adds `logged_at`, `component` and, if absent, `audit_id`. */
export interface AuditEvent {
  readonly type: AuditEventType;
  readonly outcome: AuditOutcome;
  /** Names the request, so that log and audit can be put side by side. */
  readonly audit_id?: string;
  /** Address of the client; one from a forwarding header only if a trusted proxy wrote it. */
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
    /** The session's name in logs, as spans have it: `sessionLogId`. */
    readonly session?: string | undefined;
    /** The trace of the request, where it is traced. */
    readonly trace_id?: string | undefined;
  };
  /** Always written where present, e.g. the deciding policies of a denial. Never holds what a client sent. */
  readonly details?: Readonly<Record<string, unknown>>;
  /** Parameters of the request: a value, or its JSON text. Written with `includeRequestData` only. */
  readonly request?: unknown;
  /** The result: a value, or its JSON text. Written with `includeResponseData` only. */
  readonly response?: unknown;
}

/** The audit stream of one runtime. Recording never waits and never throws. */
export interface Audit {
  /** Whether events of this type are written: where not, none needs to be made. */
  wants(type: AuditEventType): boolean;
  readonly wantsRequest: boolean;
  readonly wantsResponse: boolean;
  record(event: AuditEvent): void;
  /** Opens the log file anew, after it was moved away. */
  reopen(): void;
  /** Writes what is waiting, for at most `deadline` milliseconds; what is left then is dropped and counted. */
  close(deadline: number): Promise<void>;
}
