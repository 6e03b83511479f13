import { z } from 'zod';
import { AuditConfig } from '../parts/audit.ts';
import { TelemetryConfig } from '../parts/telemetry.ts';
import { Aggregation } from './aggregation.ts';
import { AuthServer } from './auth-server.ts';
import { Backend } from './backend.ts';
import { Authz, Incoming } from './incoming.ts';
import { Limits, Operational, RateLimiting } from './operational.ts';
import { Storage } from './storage.ts';

export const RUN_CONFIG_VERSION = 'v0.1.0';

const File = z.string().min(1).max(4096);

/**
 * What one runtime serves: rendered by the operator, read by the runtime, the only thing that the two share at run time.
 * It names files, never secret values. On the way in durations are strings; after parsing they are milliseconds.
 */
export const RunConfig = z.strictObject({
  schema_version: z.literal(RUN_CONFIG_VERSION),
  server: z.strictObject({ namespace: z.string().max(63), name: z.string().max(63), uid: z.string().max(64) }),
  listen: z
    .strictObject({
      host: z.string().max(253).default('127.0.0.1'),
      port: z.int().min(0).max(65_535).default(4483),
      private_host: z.string().max(253).default('127.0.0.1'),
      private_port: z.int().min(0).max(65_535).default(4484),
      tls: z.strictObject({ cert_file: File, key_file: File }).optional(),
    })
    .prefault({}),
  resource_url: z
    .url()
    .max(2048)
    .optional()
    .describe('What the user types: the externally reachable URL of the endpoint.'),
  allowed_hosts: z
    .array(z.string().max(253))
    .max(100)
    .default([])
    .describe('Accepted Host headers besides those of resource_url and issuer.'),
  allowed_origins: z.array(z.string().max(2048)).max(100).default([]),
  trusted_proxies: z.array(z.string().max(64)).max(100).default([]).describe('CIDRs whose forwarding headers count.'),
  incoming: Incoming,
  authz: Authz.optional(),
  aggregation: Aggregation.prefault({}),
  backends: z.array(Backend).max(1000),
  operational: Operational.prefault({}),
  limits: Limits.prefault({}),
  passthrough_headers: z.array(z.string().max(256)).max(64).default([]),
  rate_limiting: RateLimiting.optional(),
  session_storage: Storage.default({ type: 'memory' }),
  sealing_secret_files: z.array(File).max(16).default([]),
  embedded_auth_server_config: AuthServer.optional(),
  audit_config: AuditConfig.prefault({}),
  telemetry_config: TelemetryConfig.prefault({}),
  status_token_file: File.optional().describe('Bearer token that /status asks for.'),
});
/** The parsed document, as the runtime uses it. */
export type RunConfig = z.infer<typeof RunConfig>;
/** The document as it is written: durations are strings, defaults may be left out. */
export type RunConfigDocument = z.input<typeof RunConfig>;
