import type { RuntimeStatus } from '#crds/run-config/runtime-status';

/** One backend, as `/status` shows it. Numbers of what it offers are null until somebody listed. */
export type BackendSnapshot = RuntimeStatus['backends'][number] & {
  readonly prompts: number | null;
  readonly resources: number | null;
  /** State of its circuit breaker. */
  readonly breaker: 'closed' | 'open' | 'half-open';
  /** Calls under way, how many of them are queued, and the age of the oldest. */
  readonly calls: { readonly in_flight: number; readonly queued: number; readonly oldest_seconds: number };
  /** How requests to it are authenticated, e.g. `tokenExchange`. */
  readonly auth_type: string;
  /** Revisions of MCP that it speaks. */
  readonly revisions: readonly string[];
  /** RFC 3339; null before the first probe. */
  readonly last_probe: string | null;
  /** RFC 3339. */
  readonly last_transition_time: string;
};

/** What `/status` answers: what the operator reads (`RuntimeStatus`), and what people want to know besides. No secrets. */
export type StatusSnapshot = Omit<RuntimeStatus, 'backends' | 'config_digest' | 'auth_server'> & {
  readonly server: { readonly namespace: string; readonly name: string; readonly uid: string };
  readonly version: string;
  /** SHA-256 (hex) of the run configuration in force. */
  readonly config_digest: string;
  /** A newer document that is not in force, and why. */
  readonly config_refused: { readonly at: string; readonly message: string } | null;
  readonly draining: boolean;
  readonly backends: readonly BackendSnapshot[];
  readonly sessions: number;
  readonly streams: number;
  /** Memory for answers that cannot pass as they come, and how many readers of backends wait for some of it. */
  readonly buffered: { readonly bytes: number; readonly limit_bytes: number; readonly waiting: number };
  readonly uptime_seconds: number;
  /** Keyed HMAC-SHA256 (hex) of each file that the configuration names. */
  readonly secret_files: Readonly<Record<string, string>>;
};
