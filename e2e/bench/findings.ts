import type { Comparison } from './side-by-side.ts';
import type { TokenFindings } from './compare-tokens.ts';
import type { BridgeRow } from './compare-bridges.ts';
import type { BridgedSessionCost } from './measure-bridged-sessions.ts';
import type { ListFindings } from './compare-lists.ts';
import type { SessionCost, Slope, IdleMemory } from './measure-memory.ts';

/** All findings of one run. */
export interface Findings {
  servers: Comparison[];
  tokens: TokenFindings | undefined;
  lists: ListFindings | undefined;
  bridges: readonly BridgeRow[] | undefined;
  /** Load average of the machine before the run. */
  busy: number;
  gateway:
    | {
        /** Numbers of backends and tools, compared with one bare proxy. */
        grid: Comparison;
        starts: { readyMs: number[]; resident: number[] };
        sessions: SessionCost;
        bridgedSessions: readonly BridgedSessionCost[];
        slope: Slope;
        idle: IdleMemory | undefined;
      }
    | undefined;
}
