/**
 * How Node runs the runtime. V8's young generation grows under load to several times what it needs, and its pages become resident
 * bit by bit over minutes; with 16 MiB a half, calls cost the same and memory stands still (docs/benchmarks.md).
 */
export const RUNTIME_NODE_OPTIONS = ['--max-semi-space-size=16'] as const;
