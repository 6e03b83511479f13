import { z } from 'zod';
import { text } from '../parts/primitives.ts';
import { AggregationConfig, ToolText } from '../parts/aggregation.ts';
import { inMilliseconds, meaning, objectLike } from '../parts/meaning.ts';
import { CaBundleRef } from '../parts/references.ts';
import { Webhooks } from '../parts/workload.ts';
import { Authz } from './incoming.ts';
import { RateLimiting } from './operational.ts';
import { BackendAuth } from './outgoing.ts';

const File = text(4096);
const Env = z.record(z.string().max(256), z.string().max(32_768));

const webhook = Webhooks.shape.validating.unwrap().element.shape;
const webhookTls = webhook.tls.unwrap().shape;

/** A validating webhook, called before each tools/call. */
export const ValidatingWebhook = objectLike(Webhooks.shape.validating, {
  name: z.string().max(63),
  url: z.url().max(2048),
  timeout: inMilliseconds(webhook.timeout),
  failure_policy: webhook.failurePolicy,
  hmac_secret_file: File.optional().describe('File with the secret that signs the request (HMAC-SHA256).'),
  tls: z
    .strictObject({
      ca_bundle_file: File.optional().describe('Certificate authorities of the webhook.'),
      client_cert_file: meaning(webhookTls.clientCertSecretRef, File.optional()),
      client_key_file: meaning(webhookTls.clientKeySecretRef, File.optional()),
      insecure_skip_verify: webhookTls.insecureSkipVerify,
    })
    .optional(),
});

const common = {
  name: text(63).describe('Name of the MCPServer.'),
  auth: BackendAuth.prefault({ type: 'unauthenticated' }).describe('Boundary 2: how it is authenticated at.'),
  authz: Authz.optional().describe('Policies of this MCPServer; they hold beside those of the server.'),
  webhooks: meaning(Webhooks.shape.validating, z.array(ValidatingWebhook).max(16).default([])),
  rate_limiting: RateLimiting.optional().describe(
    'Rate limits of this MCPServer. Tools have their own names, without prefix.',
  ),
  tools_filter: z.array(z.string().max(256)).max(1000).optional().describe('Only these tools, by the original name.'),
  tools_override: meaning(
    AggregationConfig.shape.tools.unwrap().element.shape.overrides,
    z.record(z.string().max(256), z.strictObject(ToolText)).default({}),
  ),
};

const http = {
  ...common,
  url: z.url().max(2048).describe('URL of its MCP endpoint.'),
  pods_host: text(253)
    .optional()
    .describe('Name with the address of each of its pods: a session stays at the one that opened it.'),
  ca_bundle_file: meaning(CaBundleRef, File.optional()),
  header_forward: z
    .strictObject({
      add_plaintext_headers: z
        .record(z.string().max(256), z.string().max(8192))
        .default({})
        .describe('Header name to value.'),
      add_header_files: z
        .record(z.string().max(256), File)
        .default({})
        .describe('Header name to the file with its value.'),
    })
    .prefault({})
    .describe('Headers that are added to each request to it.'),
};

const StreamableHttpBackend = z.strictObject({
  transport: z.literal('streamable-http').describe('Transport.'),
  ...http,
});
const SseBackend = z.strictObject({ transport: z.literal('sse'), ...http });

const StdioBackend = z.strictObject({
  transport: z.literal('stdio'),
  ...common,
  command: text(4096).describe('Program to start, with transport stdio.'),
  args: z.array(z.string().max(32_768)).max(256).default([]).describe('Arguments of the program.'),
  env: Env.default({}).describe('Environment variables of the program.'),
  env_files: z.record(z.string().max(256), File).default({}).describe('Variable name to the file with its value.'),
  working_directory: z.string().max(4096).optional().describe('Folder in which the program starts.'),
  stdio_process: z
    .enum(['shared', 'perSession'])
    .default('shared')
    .describe('One process for all sessions or one for each.'),
  restarted_at: z.string().max(256).optional().describe('When a restart was asked for; another one: another process.'),
});

export const Backend = z.discriminatedUnion('transport', [StreamableHttpBackend, SseBackend, StdioBackend]);
export type Backend = z.infer<typeof Backend>;
export type HttpBackend = z.infer<typeof StreamableHttpBackend> | SseBackend;
export type SseBackend = z.infer<typeof SseBackend>;
export type StdioBackend = z.infer<typeof StdioBackend>;
