import type { Backend, BackendCall } from '#runtime/mcp/backends/backend';
import type { CachedResults } from './cached-results.ts';
import type { LegacyTools } from './legacy-tools.ts';
import type { Questions } from './questions.ts';

/** Collaborators that the calls of one bridge share. */
export interface BridgeParts {
  readonly backend: Backend;
  readonly tools: LegacyTools;
  readonly questions: Questions;
  readonly cached: CachedResults;
  /** Lists the tools until it knows this one. Never rejects. */
  readonly learn: (call: BackendCall, tool: string) => Promise<void>;
}
