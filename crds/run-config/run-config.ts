import { z } from 'zod';
import { AuditConfig } from '../parts/audit.ts';
import { isAddressRange, text } from '../parts/primitives.ts';
import { TelemetryRunConfig } from '../parts/telemetry.ts';
import { Aggregation } from './aggregation.ts';
import { AuthServer } from './auth-server.ts';
import { Backend } from './backend.ts';
import { Authz, Incoming } from './incoming.ts';
import { Limits, Operational, RateLimiting } from './operational.ts';
import { Storage } from './storage.ts';

export const RUN_CONFIG_VERSION = 'v0.1.0';

const File = text(4096);
const AddressRange = z.string().max(64).refine(isAddressRange, 'not an address range; write one like 10.0.0.0/8');

/** The operator renders it, the runtime reads it; they share nothing else at run time. It has paths of secret files, never values. */
export const RunConfig = z.strictObject({
  schema_version: z.literal(RUN_CONFIG_VERSION).describe('Version of this document; another one is refused.'),
  server: z
    .strictObject({
      namespace: z.string().max(63).describe('Namespace.'),
      name: z.string().max(63).describe('Name.'),
      uid: z.string().max(64).describe('Identity that a new resource of the same name does not have.'),
    })
    .describe('Identity of the VirtualMCPServer. Keys of stored data are derived from it.'),
  listen: z
    .strictObject({
      host: z.string().max(253).default('127.0.0.1').describe('Address of the public port.'),
      port: z.int().min(0).max(65_535).default(4483).describe('Public port; 0 takes a free one.'),
      private_host: z.string().max(253).default('127.0.0.1').describe('Address of the private port.'),
      private_port: z
        .int()
        .min(0)
        .max(65_535)
        .default(4484)
        .describe('Port of /healthz, /readyz, /status and /metrics; 0 takes a free one.'),
      tls: z
        .strictObject({
          cert_file: File.describe('File with the certificate and its chain.'),
          key_file: File.describe('File with its private key.'),
        })
        .optional()
        .describe('TLS of the public port.'),
    })
    .prefault({})
    .describe('Address of the listener.'),
  resource_url: z.url().max(2048).optional().describe('Externally reachable URL of the endpoint, as users type it.'),
  endpoint_prefix: z
    .string()
    .max(1024)
    .regex(/^\/[^\s?#]*[^\s?#/]$/)
    .optional()
    .describe('Path before /mcp at which it answers besides, for a proxy in front that does not take it away.'),
  proxy_mode: z
    .enum(['streamable-http', 'sse'])
    .default('streamable-http')
    .describe('sse: it answers also at /sse and /messages, for clients of the HTTP+SSE transport of 2024-11-05.'),
  allowed_hosts: z
    .array(z.string().max(260))
    .max(100)
    .default([])
    .describe('Accepted Host headers besides those of resource_url and issuer: host, host:port, or *. and a suffix.'),
  allowed_origins: z
    .array(z.string().max(2048))
    .max(100)
    .default([])
    .describe("Accepted Origin headers besides the endpoint's own; they get CORS."),
  trusted_proxies: z.array(AddressRange).max(100).default([]).describe('CIDRs whose forwarding headers count.'),
  incoming: Incoming.describe('Boundary 1: from the client to the endpoint.'),
  authz: Authz.optional().describe('Policies. Absent: every authenticated caller may do everything.'),
  aggregation: Aggregation.prefault({}).describe('Rules that merge the lists of all backends.'),
  backends: z.array(Backend).max(1000).describe('The MCP servers behind the endpoint.'),
  operational: Operational.prefault({}).describe('Deadlines, health and load of the backends.'),
  limits: Limits.prefault({}).describe('Bounds.'),
  passthrough_headers: z
    .array(z.string().max(256))
    .max(64)
    .default([])
    .describe("Request headers that go on to the backends. Never the caller's Authorization."),
  rate_limiting: RateLimiting.optional().describe('Rate limits.'),
  session_storage: Storage.default({ type: 'memory' }).describe('Storage of sessions.'),
  sealing_secret_files: z
    .array(File)
    .max(16)
    .default([])
    .describe('Files with secrets that seal what is stored: the first seals, all open.'),
  embedded_auth_server_config: AuthServer.optional().describe('The embedded authorization server.'),
  audit_config: AuditConfig.prefault({}).describe('Audit events.'),
  telemetry_config: TelemetryRunConfig.prefault({}).describe('Traces and metrics.'),
  status_token_file: File.optional().describe('Bearer token that /status asks for.'),
});
/** The parsed document: durations are milliseconds. */
export type RunConfig = z.infer<typeof RunConfig>;
/** The document as written: durations are strings, and defaults may be omitted. */
export type RunConfigDocument = z.input<typeof RunConfig>;
