import type { Comparison } from './side-by-side.ts';
import type { TokenFindings } from './compare-tokens.ts';
import type { ListFindings } from './compare-lists.ts';
import type { SessionCost, Slope, IdleMemory } from './measure-memory.ts';

/** Everything that one run found. */
export interface Findings {
  servers: Comparison[];
  tokens: TokenFindings | undefined;
  lists: ListFindings | undefined;
  /** Load average of the machine before the run. */
  busy: number;
  gateway:
    | {
        /** Numbers of backends and tools, beside one bare proxy. */
        grid: Comparison;
        starts: { readyMs: number[]; resident: number[] };
        sessions: SessionCost;
        slope: Slope;
        idle: IdleMemory | undefined;
      }
    | undefined;
}
