/**
 * Protocol era, named as the MCP SDK does. `legacy`: revisions up to 2025-11-25, with initialize and sessions.
 * `modern`: 2026-07-28, with independent requests.
 */
export type Era = 'legacy' | 'modern';

/** Name of a bridge in audit lines, metrics and traces: the era of the client, then that of the backend. */
export type BridgeName = 'legacy-to-modern' | 'modern-to-legacy';

export const MODERN_REVISION = '2026-07-28';

/** Newest first. A client that requests an unknown revision gets the first one. */
export const LEGACY_REVISIONS: readonly string[] = ['2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05'];

export const LATEST_LEGACY_REVISION = '2025-11-25';

export const ALL_REVISIONS: readonly string[] = [MODERN_REVISION, ...LEGACY_REVISIONS];
