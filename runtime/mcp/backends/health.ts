import type { ServerCapabilities } from '#runtime/mcp/sessions/capabilities';
import type { Era } from '../era.ts';

export type BackendPhase = 'ready' | 'degraded' | 'unavailable' | 'unknown';

/** The current health of a backend. The prober and the lists write it; all other components only read it. */
export interface BackendHealth {
  phase: BackendPhase;
  /** The problem and its remedy; empty if the backend is healthy. */
  message: string;
  /** Eras that the backend supports. Undefined until a conclusive probe. */
  eras: ReadonlySet<Era> | undefined;
  revisions: readonly string[];
  /** The capabilities that the backend declared last. */
  capabilities: ServerCapabilities | undefined;
  /** Number of tools in its last list; null before the first list. */
  tools: number | null;
  /** Number of prompts in its last list; null before the first list. */
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

/** Returns whether the backend serves a client of this era. If the eras are unknown, the gateway tries. */
export function serves(health: BackendHealth, era: Era): boolean {
  return health.phase !== 'unavailable' && (health.eras === undefined || health.eras.has(era));
}

/** Returns whether the backend is unavailable and would otherwise serve a client of this era. */
export function isAway(health: BackendHealth, era: Era): boolean {
  return health.phase === 'unavailable' && (health.eras?.has(era) ?? true);
}
