import type { ServerCapabilities } from '#runtime/mcp/sessions/capabilities';
import type { BridgeName, Era } from '../era.ts';
import { CORE_TASKS, TASKS } from '../extensions.ts';

export type BackendPhase = 'ready' | 'degraded' | 'unavailable' | 'unknown';

/** Only the prober and the lists write to it. */
export interface BackendHealth {
  phase: BackendPhase;
  /** The problem and its remedy; empty if healthy. */
  message: string;
  /** Undefined until a conclusive probe. */
  eras: ReadonlySet<Era> | undefined;
  revisions: readonly string[];
  capabilities: ServerCapabilities | undefined;
  /** Number of tools in the last list; null before the first one. */
  tools: number | null;
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

/** Returns the bridge for calls of an era. Undefined: the backend speaks it, or was not asked yet. */
export function bridgeFor({ eras }: BackendHealth, era: Era): BridgeName | undefined {
  if (eras?.has(era) ?? true) return undefined;
  return era === 'legacy' ? 'legacy-to-modern' : 'modern-to-legacy';
}

const TASKS_OF: Readonly<Record<Era, string>> = { legacy: CORE_TASKS, modern: TASKS };

/** Returns whether calls of this era can create tasks that an id of the gateway can name. A bridge translates tasks. */
export function offersTasks(health: BackendHealth, era: Era): boolean {
  const other = era === 'legacy' ? 'modern' : 'legacy';
  const own = bridgeFor(health, era) === undefined ? era : other;
  return health.capabilities?.extensions[own]?.includes(TASKS_OF[own]) === true;
}

export function isAway({ phase }: BackendHealth): boolean {
  return phase === 'unavailable';
}
