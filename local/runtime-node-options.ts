/**
 * Under load, V8's young generation grows to several times its need; 16 MiB keep memory constant at the same cost
 * (docs/internals/benchmarks.md). An idle runtime calls `gc`; getting it from a new context would cost each call a
 * tenth more CPU.
 */
export const RUNTIME_NODE_OPTIONS = ['--max-semi-space-size=16', '--expose-gc'] as const;

/**
 * glibc raises its thresholds when a large buffer is freed, and then keeps later buffers. Fixed thresholds return large
 * buffers; lower ones cost CPU for each call (docs/internals/benchmarks.md).
 */
export const RUNTIME_ENVIRONMENT = {
  MALLOC_ARENA_MAX: '2',
  MALLOC_MMAP_THRESHOLD_: '1048576',
  MALLOC_TRIM_THRESHOLD_: '8388608',
} as const;
