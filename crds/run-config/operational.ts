import { z } from 'zod';
import { DEFAULTS } from '../parts/defaults.ts';
import { meaning } from '../parts/meaning.ts';
import { CircuitBreaker, Concurrency, FailureHandling, LimitsConfig, OperationalConfig } from '../parts/operational.ts';
import { Milliseconds } from '../parts/primitives.ts';
import { RateLimitRule } from '../parts/rate-limiting.ts';

const failure = FailureHandling.shape;
const breaker = CircuitBreaker.shape;
const concurrency = Concurrency.shape;

/** Deadlines, health checks and load limits of the backends. Durations are milliseconds after parsing. */
export const Operational = z.strictObject({
  log_level: OperationalConfig.shape.logLevel,
  timeouts: z
    .strictObject({
      default: Milliseconds.prefault(DEFAULTS.callTimeout).describe('Longest silence of a call.'),
      per_workload: z
        .record(z.string().max(63), Milliseconds)
        .default({})
        .describe('Backend name to its own longest silence.'),
      maximum: Milliseconds.prefault(DEFAULTS.callMaximum).describe(
        'Longest time of a call, also of one that reports progress or waits for its client.',
      ),
    })
    .prefault({})
    .describe('Deadlines of calls.'),
  failure_handling: z
    .strictObject({
      health_check_interval: meaning(failure.healthCheckInterval, Milliseconds.prefault(DEFAULTS.healthCheckInterval)),
      health_check_timeout: meaning(failure.healthCheckTimeout, Milliseconds.prefault(DEFAULTS.healthCheckTimeout)),
      unhealthy_threshold: failure.unhealthyThreshold,
      partial_failure_mode: failure.partialFailureMode,
      circuit_breaker: z
        .strictObject({
          enabled: breaker.enabled,
          failure_threshold: breaker.failureThreshold,
          timeout: meaning(breaker.timeout, Milliseconds.prefault(DEFAULTS.breakerTimeout)),
        })
        .prefault({})
        .describe('Circuit breaker of each backend.'),
    })
    .prefault({})
    .describe('What counts as failure and what follows.'),
  concurrency: z
    .strictObject({ per_backend: concurrency.perBackend, queue: concurrency.queue })
    .prefault({})
    .describe('Load of each backend.'),
});
export type Operational = z.infer<typeof Operational>;

const limits = LimitsConfig.shape;

/** Limits. Durations are milliseconds after parsing, sizes are bytes. */
export const Limits = z.strictObject({
  session_idle: meaning(limits.sessionIdle, Milliseconds.prefault(DEFAULTS.sessionIdle)),
  sessions_per_principal: limits.sessionsPerPrincipal,
  sessions_per_replica: limits.sessionsPerReplica,
  list_deadline: meaning(limits.listDeadline, Milliseconds.prefault(DEFAULTS.listDeadline)),
  connect_timeout: meaning(limits.connectTimeout, Milliseconds.prefault(DEFAULTS.connectTimeout)),
  max_request_bytes: limits.maxRequestBytes,
  max_response_bytes: limits.maxResponseBytes,
  buffered_bytes: limits.bufferedBytes,
  jwks_max_age: meaning(limits.jwksMaxAge, Milliseconds.prefault(DEFAULTS.jwksMaxAge)),
  jwks_cooldown: meaning(limits.jwksCooldown, Milliseconds.prefault(DEFAULTS.jwksCooldown)),
  introspection_cache: meaning(limits.introspectionCache, Milliseconds.prefault(DEFAULTS.introspectionCache)),
  max_name_length: limits.maxNameLength,
});
export type Limits = z.infer<typeof Limits>;

const Bucket = z.strictObject({
  max_tokens: z.int().min(1).describe('Requests that may come at once.'),
  refill_period: Milliseconds.describe('Time in which an empty bucket fills again.'),
});
const rule = RateLimitRule.shape;

/** Rate limits: rules, or token buckets. */
export const RateLimiting = z.strictObject({
  rules: z
    .array(
      z
        .strictObject({
          requests: meaning(rule.requests, z.int().min(1)),
          per: meaning(rule.per, Milliseconds),
          scope: rule.scope,
          tool: rule.tool,
          on_store_failure: rule.onStoreFailure,
        })
        .refine(({ scope, tool }) => scope !== 'tool' || tool !== undefined, {
          path: ['tool'],
          message: 'scope tool needs the tool',
        }),
    )
    .max(100)
    .default([])
    .describe('Each of them must let a request through.'),
  shared: Bucket.optional().describe('One bucket over all users.'),
  per_user: Bucket.optional().describe('A bucket for each user.'),
  tools: z
    .array(
      z.strictObject({
        name: z.string().max(256).describe('Advertised name of the tool.'),
        shared: Bucket.optional().describe('Over all users.'),
        per_user: Bucket.optional().describe('For each user.'),
      }),
    )
    .max(1000)
    .default([])
    .describe('Buckets of single tools.'),
});
export type RateLimiting = z.infer<typeof RateLimiting>;
