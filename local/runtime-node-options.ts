/**
 * How Node runs the runtime. V8's young generation grows under load to several times what it needs, and its pages become resident
 * bit by bit over minutes; with 16 MiB a half, calls cost the same and memory stands still (docs/internals/benchmarks.md). An idle runtime
 * collects garbage by `gc`; to get that function from a new context instead costs each call a tenth more CPU.
 */
export const RUNTIME_NODE_OPTIONS = ['--max-semi-space-size=16', '--expose-gc'] as const;

/**
 * The environment of the runtime. glibc raises its thresholds when a large buffer is freed, and then keeps the memory of those that
 * follow; fixed thresholds make it return what is large. Lower ones cost CPU for each call (docs/internals/benchmarks.md).
 */
export const RUNTIME_ENVIRONMENT = {
  MALLOC_ARENA_MAX: '2',
  MALLOC_MMAP_THRESHOLD_: '1048576',
  MALLOC_TRIM_THRESHOLD_: '8388608',
} as const;
