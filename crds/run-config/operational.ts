import { z } from 'zod';
import { inMilliseconds, objectLike } from '../parts/meaning.ts';
import { CircuitBreaker, Concurrency, FailureHandling, LimitsConfig, OperationalConfig } from '../parts/operational.ts';
import { Milliseconds } from '../parts/primitives.ts';
import { RateLimitingConfig, RateLimitRule } from '../parts/rate-limiting.ts';

const operational = OperationalConfig.shape;
const timeouts = operational.timeouts.unwrap().shape;
const failure = FailureHandling.shape;
const breaker = CircuitBreaker.shape;
const concurrency = Concurrency.shape;

/** Deadlines, health checks and load limits of the backends. Durations are milliseconds after parsing. */
export const Operational = objectLike(OperationalConfig, {
  log_level: operational.logLevel,
  timeouts: objectLike(operational.timeouts, {
    default: inMilliseconds(timeouts.default),
    per_workload: z.record(z.string().max(63), Milliseconds).default({}),
    maximum: inMilliseconds(timeouts.maximum).describe(
      'Longest time of a call, also of one that reports progress or waits for its client.',
    ),
  }).prefault({}),
  failure_handling: objectLike(FailureHandling, {
    health_check_interval: inMilliseconds(failure.healthCheckInterval),
    health_check_timeout: inMilliseconds(failure.healthCheckTimeout),
    unhealthy_threshold: failure.unhealthyThreshold,
    partial_failure_mode: failure.partialFailureMode,
    circuit_breaker: z
      .strictObject({
        enabled: breaker.enabled,
        failure_threshold: breaker.failureThreshold,
        timeout: inMilliseconds(breaker.timeout),
      })
      .prefault({}),
  }).prefault({}),
  concurrency: z.strictObject({ per_backend: concurrency.perBackend, queue: concurrency.queue }).prefault({}),
});
export type Operational = z.infer<typeof Operational>;

const limits = LimitsConfig.shape;

/** Limits. Durations are milliseconds after parsing, sizes are bytes. */
export const Limits = z.strictObject({
  session_idle: inMilliseconds(limits.sessionIdle),
  sessions_per_principal: limits.sessionsPerPrincipal,
  sessions_per_replica: limits.sessionsPerReplica,
  list_deadline: inMilliseconds(limits.listDeadline),
  connect_timeout: inMilliseconds(limits.connectTimeout),
  max_request_bytes: limits.maxRequestBytes,
  max_response_bytes: limits.maxResponseBytes,
  buffered_bytes: limits.bufferedBytes,
  jwks_max_age: inMilliseconds(limits.jwksMaxAge),
  jwks_cooldown: inMilliseconds(limits.jwksCooldown),
  introspection_cache: inMilliseconds(limits.introspectionCache),
  max_name_length: limits.maxNameLength,
});
export type Limits = z.infer<typeof Limits>;

const Bucket = objectLike(RateLimitingConfig.shape.shared, {
  max_tokens: z.int().min(1),
  refill_period: Milliseconds,
});
const rule = RateLimitRule.shape;

export const RateLimiting = objectLike(RateLimitingConfig, {
  rules: z
    .array(
      objectLike(RateLimitRule, {
        requests: z.int().min(1),
        per: Milliseconds,
        scope: rule.scope,
        tool: rule.tool,
        on_store_failure: rule.onStoreFailure,
      }).refine(({ scope, tool }) => scope !== 'tool' || tool !== undefined, {
        path: ['tool'],
        message: 'scope tool needs the tool',
      }),
    )
    .max(100)
    .default([]),
  shared: Bucket.optional(),
  per_user: Bucket.optional(),
  tools: z
    .array(
      objectLike(RateLimitingConfig.shape.tools, {
        name: z.string().max(256),
        shared: Bucket.optional(),
        per_user: Bucket.optional(),
      }),
    )
    .max(1000)
    .default([]),
});
export type RateLimiting = z.infer<typeof RateLimiting>;
