/**
 * `session`: revisions with initialize and a session (up to 2025-11-25). `stateless`: 2026-07-28, where each request
 * stands alone.
 */
export type Era = 'session' | 'stateless';

export const STATELESS_REVISION = '2026-07-28';

/** Newest first. A client that requests an unknown revision gets the first one. */
export const SESSION_REVISIONS: readonly string[] = ['2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05'];

export const LATEST_SESSION_REVISION = '2025-11-25';

export const ALL_REVISIONS: readonly string[] = [STATELESS_REVISION, ...SESSION_REVISIONS];
