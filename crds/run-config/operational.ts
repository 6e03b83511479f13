import { z } from 'zod';
import { Milliseconds } from '../parts/primitives.ts';

/** Deadlines, health and load of the backends. All durations are milliseconds after parsing. */
export const Operational = z.strictObject({
  log_level: z.enum(['debug', 'info', 'warn', 'error']).default('info'),
  timeouts: z
    .strictObject({
      default: Milliseconds.prefault('60s'),
      per_workload: z.record(z.string().max(63), Milliseconds).default({}),
    })
    .prefault({}),
  failure_handling: z
    .strictObject({
      health_check_interval: Milliseconds.prefault('30s'),
      health_check_timeout: Milliseconds.prefault('5s'),
      unhealthy_threshold: z.int().min(1).max(100).default(3),
      partial_failure_mode: z.enum(['fail', 'best_effort']).default('best_effort'),
      circuit_breaker: z
        .strictObject({
          enabled: z.boolean().default(false),
          failure_threshold: z.int().min(1).max(1000).default(5),
          timeout: Milliseconds.prefault('60s'),
        })
        .prefault({}),
    })
    .prefault({}),
  concurrency: z
    .strictObject({
      per_backend: z.int().min(1).max(10_000).default(256),
      queue: z.int().min(0).max(100_000).default(1024),
    })
    .prefault({}),
});
export type Operational = z.infer<typeof Operational>;

/** Bounds. Durations are milliseconds after parsing, sizes bytes. */
export const Limits = z.strictObject({
  session_idle: Milliseconds.prefault('30m'),
  sessions_per_principal: z.int().min(1).max(1_000_000).default(100),
  sessions_per_replica: z.int().min(1).max(1_000_000).default(10_000),
  list_deadline: Milliseconds.prefault('5s'),
  connect_timeout: Milliseconds.prefault('3s'),
  max_request_bytes: z.int().min(1024).max(1_073_741_824).default(4_194_304),
  max_response_bytes: z.int().min(1024).max(1_073_741_824).default(104_857_600),
  jwks_max_age: Milliseconds.prefault('5m'),
  jwks_cooldown: Milliseconds.prefault('30s'),
  introspection_cache: Milliseconds.prefault('30s'),
  max_name_length: z.int().min(16).max(128).default(60),
});
export type Limits = z.infer<typeof Limits>;

const Bucket = z.strictObject({ max_tokens: z.int().min(1), refill_period: Milliseconds });

/** Rate limits: rules, or token buckets. */
export const RateLimiting = z.strictObject({
  rules: z
    .array(
      z.strictObject({
        requests: z.int().min(1),
        per: Milliseconds,
        scope: z.enum(['global', 'user', 'tool']),
        tool: z.string().max(256).optional(),
        on_store_failure: z.enum(['open', 'closed']).default('closed'),
      }),
    )
    .max(100)
    .default([]),
  shared: Bucket.optional(),
  per_user: Bucket.optional(),
  tools: z
    .array(z.strictObject({ name: z.string().max(256), shared: Bucket.optional(), per_user: Bucket.optional() }))
    .max(1000)
    .default([]),
});
export type RateLimiting = z.infer<typeof RateLimiting>;
