import type { RuntimeStatus } from '#crds/run-config/runtime-status';

/** One backend in `/status`. Its counts of tools, prompts and resources are null before the first list. */
export type BackendSnapshot = RuntimeStatus['backends'][number] & {
  readonly prompts: number | null;
  readonly resources: number | null;
  readonly breaker: 'closed' | 'open' | 'half-open';
  readonly calls: { readonly in_flight: number; readonly queued: number; readonly oldest_seconds: number };
  /** How requests to it are authenticated, e.g. `tokenExchange`. */
  readonly auth_type: string;
  readonly revisions: readonly string[];
  /** RFC 3339; null before the first probe. */
  readonly last_probe: string | null;
  /** RFC 3339. */
  readonly last_transition_time: string;
};

/** Answer of `/status`: the part that the operator reads (`RuntimeStatus`), and details for people. Contains no secrets. */
export type StatusSnapshot = Omit<RuntimeStatus, 'backends' | 'config_digest' | 'auth_server'> & {
  readonly server: { readonly namespace: string; readonly name: string; readonly uid: string };
  readonly version: string;
  readonly config_digest: string;
  readonly config_refused: { readonly at: string; readonly message: string } | null;
  readonly draining: boolean;
  readonly backends: readonly BackendSnapshot[];
  readonly sessions: number;
  /** Open sessions by the revision of their clients. Clients of 2026-07-28 have no sessions. */
  readonly sessions_by_revision: Readonly<Record<string, number>>;
  readonly streams: number;
  readonly buffered: { readonly bytes: number; readonly limit_bytes: number; readonly waiting: number };
  readonly uptime_seconds: number;
  readonly secret_files: Readonly<Record<string, string>>;
};
