import type { ServerCapabilities } from '#runtime/mcp/sessions/capabilities';
import type { Era } from '../era.ts';

export type BackendPhase = 'ready' | 'degraded' | 'unavailable' | 'unknown';

/** What is known of a backend now. Its prober and the lists write it; everybody reads it. */
export interface BackendHealth {
  phase: BackendPhase;
  /** What is wrong and what to do; empty when all is well. */
  message: string;
  /** Eras that it speaks; undefined until a conclusive probe. */
  eras: ReadonlySet<Era> | undefined;
  revisions: readonly string[];
  /** What it said of itself, last time. */
  capabilities: ServerCapabilities | undefined;
  /** Number of tools that it last listed; null until somebody listed. */
  tools: number | null;
  /** The same of prompts and of resources. */
  prompts: number | null;
  resources: number | null;
  /** Milliseconds since the epoch. */
  lastProbe: number | undefined;
  lastTransition: number;
}

export function unknownHealth(wallClock: () => number): BackendHealth {
  return {
    phase: 'unknown',
    message: 'not asked yet',
    eras: undefined,
    revisions: [],
    capabilities: undefined,
    tools: null,
    prompts: null,
    resources: null,
    lastProbe: undefined,
    lastTransition: wallClock(),
  };
}

/** Whether a client of this era is served by the backend. What is not known yet is tried. */
export function serves(health: BackendHealth, era: Era): boolean {
  return health.phase !== 'unavailable' && (health.eras === undefined || health.eras.has(era));
}

/** Whether a client of this era would be served if the backend answered. */
export function isAway(health: BackendHealth, era: Era): boolean {
  return health.phase === 'unavailable' && (health.eras?.has(era) ?? true);
}
