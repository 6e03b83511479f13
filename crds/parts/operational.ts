import { z } from 'zod';
import { mapOf } from './collections.ts';
import { DEFAULTS } from './defaults.ts';
import { Deadline, DnsLabel, durationBetween } from './primitives.ts';

const Interval = durationBetween('1s', '24h');

export const CircuitBreaker = z.strictObject({
  enabled: z.boolean().default(false).describe('Stop calling a backend whose calls fail.'),
  failureThreshold: z
    .int()
    .min(1)
    .max(1000)
    .default(DEFAULTS.breakerFailureThreshold)
    .describe('Failed live requests in a row that open it.'),
  timeout: Deadline.default(DEFAULTS.breakerTimeout).describe('Time until one request tries again.'),
});

export const Concurrency = z.strictObject({
  perBackend: z
    .int()
    .min(1)
    .max(10_000)
    .default(DEFAULTS.concurrencyPerBackend)
    .describe('Calls at a time to one backend.'),
  queue: z
    .int()
    .min(0)
    .max(100_000)
    .default(DEFAULTS.concurrencyQueue)
    .describe('Calls that wait for their turn; more are refused.'),
});

export const FailureHandling = z.strictObject({
  healthCheckInterval: Interval.default(DEFAULTS.healthCheckInterval).describe('Time between two probes of a backend.'),
  healthCheckTimeout: Deadline.default(DEFAULTS.healthCheckTimeout).describe('Longest time that a probe may take.'),
  unhealthyThreshold: z
    .int()
    .min(1)
    .max(100)
    .default(DEFAULTS.unhealthyThreshold)
    .describe('Failed probes in a row that make a backend unhealthy.'),
  statusReportingInterval: Interval.default('30s').describe('Time between two readings of the status by the operator.'),
  partialFailureMode: z
    .enum(['fail', 'best_effort'])
    .default('best_effort')
    .describe('`best_effort`: lists leave out what a failing backend has; `fail`: they fail.'),
  circuitBreaker: CircuitBreaker.prefault({}).describe('Circuit breaker of each backend.'),
});

export const OperationalConfig = z.strictObject({
  logLevel: z.enum(['debug', 'info', 'warn', 'error']).default('info').describe('Least level that is logged.'),
  timeouts: z
    .strictObject({
      default: Deadline.default(DEFAULTS.callTimeout).describe('Longest silence of a call.'),
      perWorkload: mapOf(DnsLabel, Deadline, 500).optional().describe('Backend name to its own longest silence.'),
      maximum: Deadline.default(DEFAULTS.callMaximum).describe(
        'Longest time of a call, also of one that reports progress or waits for its client. A longer silence is cut to it.',
      ),
    })
    .prefault({})
    .describe('Deadlines of calls.'),
  failureHandling: FailureHandling.prefault({}).describe('Failure detection and its consequences.'),
  concurrency: Concurrency.prefault({}).describe('Load of each backend.'),
});
export type OperationalConfig = z.infer<typeof OperationalConfig>;

const Bytes = z.int().min(1024).max(1_073_741_824);
const Sessions = z.int().min(1).max(1_000_000);

export const LimitsConfig = z.strictObject({
  sessionIdle: durationBetween('10s', '7d')
    .default(DEFAULTS.sessionIdle)
    .describe('A session unused for this long ends.'),
  sessionsPerPrincipal: Sessions.optional().describe(
    'Sessions of one caller, 100 by default. With `incomingAuth.type: anonymous` it holds for each client address, and by default only sessionsPerReplica holds.',
  ),
  sessionsPerReplica: Sessions.default(DEFAULTS.sessionsPerReplica).describe('Sessions of one replica.'),
  listDeadline: Deadline.default(DEFAULTS.listDeadline).describe(
    'Longest time to wait for the lists of a backend, where it is below 2 s, for its first list when a call needs it, and for a new session there.',
  ),
  connectTimeout: Deadline.default(DEFAULTS.connectTimeout).describe('Longest time to connect to a backend.'),
  maxRequestBytes: Bytes.default(DEFAULTS.maxRequestBytes).describe('Largest request body.'),
  maxResponseBytes: Bytes.default(DEFAULTS.maxResponseBytes).describe('Largest answer of a backend.'),
  bufferedBytes: Bytes.default(DEFAULTS.bufferedBytes).describe(
    'Memory for answers that cannot pass as they come. Once it is used up, reading from backends waits.',
  ),
  jwksMaxAge: Deadline.default(DEFAULTS.jwksMaxAge).describe('A key set is fetched again after this long.'),
  jwksCooldown: Deadline.default(DEFAULTS.jwksCooldown).describe('Least time between two fetches for unknown keys.'),
  introspectionCache: durationBetween('0s', '30s')
    .default(DEFAULTS.introspectionCache)
    .describe('Lifetime of a cached introspection response.'),
  maxNameLength: z
    .int()
    .min(16)
    .max(128)
    .default(DEFAULTS.maxNameLength)
    .describe('Longest advertised name; longer ones are shortened with a hash.'),
});
export type LimitsConfig = z.infer<typeof LimitsConfig>;
