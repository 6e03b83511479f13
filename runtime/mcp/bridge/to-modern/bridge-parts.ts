import type { Backend, BackendCall } from '#runtime/mcp/backends/backend';
import type { KeptResults } from './kept-results.ts';
import type { LegacyTools } from './legacy-tools.ts';
import type { Questions } from './questions.ts';

/** What the calls of one bridge share. */
export interface BridgeParts {
  readonly backend: Backend;
  readonly tools: LegacyTools;
  readonly questions: Questions;
  readonly kept: KeptResults;
  /** Lists the tools until it knows this one. Never rejects. */
  readonly learn: (call: BackendCall, tool: string) => Promise<void>;
}
