import type { LimitsConfig, OperationalConfig } from '#crds/parts/operational';
import type { RateLimitingConfig } from '#crds/parts/rate-limiting';
import type { RunConfigDocument } from '#crds/run-config/run-config';
import { defined } from './defined.ts';

type Bucket = NonNullable<RateLimitingConfig['shared']>;

/** Renders deadlines, health checks and load limits, without `statusReportingInterval`, which only the operator uses. */
export function renderOperational(config: OperationalConfig): NonNullable<RunConfigDocument['operational']> {
  const { failureHandling: failure, timeouts, concurrency } = config;
  const breaker = failure.circuitBreaker;
  return {
    log_level: config.logLevel,
    timeouts: defined({
      default: timeouts.default,
      per_workload: timeouts.perWorkload,
      maximum: timeouts.maximum,
    }),
    failure_handling: {
      health_check_interval: failure.healthCheckInterval,
      health_check_timeout: failure.healthCheckTimeout,
      unhealthy_threshold: failure.unhealthyThreshold,
      partial_failure_mode: failure.partialFailureMode,
      circuit_breaker: {
        enabled: breaker.enabled,
        failure_threshold: breaker.failureThreshold,
        timeout: breaker.timeout,
      },
    },
    concurrency: { per_backend: concurrency.perBackend, queue: concurrency.queue },
  };
}

export function renderLimits(limits: LimitsConfig): NonNullable<RunConfigDocument['limits']> {
  return defined({
    session_idle: limits.sessionIdle,
    sessions_per_principal: limits.sessionsPerPrincipal,
    sessions_per_replica: limits.sessionsPerReplica,
    list_deadline: limits.listDeadline,
    connect_timeout: limits.connectTimeout,
    max_request_bytes: limits.maxRequestBytes,
    max_response_bytes: limits.maxResponseBytes,
    buffered_bytes: limits.bufferedBytes,
    jwks_max_age: limits.jwksMaxAge,
    jwks_cooldown: limits.jwksCooldown,
    introspection_cache: limits.introspectionCache,
    max_name_length: limits.maxNameLength,
  });
}

const renderBucket = (bucket: Bucket | undefined) =>
  bucket && { max_tokens: bucket.maxTokens, refill_period: bucket.refillPeriod };

export function renderRateLimiting(config: RateLimitingConfig): NonNullable<RunConfigDocument['rate_limiting']> {
  return defined({
    rules: config.rules?.map(({ requests, per, scope, tool, onStoreFailure }) =>
      defined({ requests, per, scope, tool, on_store_failure: onStoreFailure }),
    ),
    shared: renderBucket(config.shared),
    per_user: renderBucket(config.perUser),
    tools: config.tools?.map(({ name, shared, perUser }) =>
      defined({ name, shared: renderBucket(shared), per_user: renderBucket(perUser) }),
    ),
  });
}
