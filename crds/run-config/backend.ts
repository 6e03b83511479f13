import { z } from 'zod';
import { Milliseconds } from '../parts/primitives.ts';
import { Authz } from './incoming.ts';
import { BackendAuth } from './outgoing.ts';

const File = z.string().min(1).max(4096);
const Env = z.record(z.string().max(256), z.string().max(32_768));

/** A validating webhook: asked before each tools/call. */
export const ValidatingWebhook = z.strictObject({
  name: z.string().max(63),
  url: z.url().max(2048),
  timeout: Milliseconds.prefault('10s'),
  failure_policy: z.enum(['fail', 'ignore']).default('fail'),
  hmac_secret_file: File.optional(),
  tls: z
    .strictObject({
      ca_bundle_file: File.optional(),
      client_cert_file: File.optional(),
      client_key_file: File.optional(),
      insecure_skip_verify: z.boolean().default(false),
    })
    .optional(),
});

/** What every backend may have, whatever its transport. */
const common = {
  name: z.string().min(1).max(63),
  auth: BackendAuth.default({ type: 'unauthenticated' }),
  authz: Authz.optional().describe('Policies of this MCPServer; they hold beside those of the server.'),
  webhooks: z.array(ValidatingWebhook).max(16).default([]),
  tools_filter: z.array(z.string().max(256)).max(1000).optional().describe('Only these tools, by the original name.'),
  tools_override: z
    .record(
      z.string().max(256),
      z.strictObject({ name: z.string().max(256).optional(), description: z.string().max(65_536).optional() }),
    )
    .default({}),
};

const http = {
  ...common,
  url: z.url().max(2048),
  ca_bundle_file: File.optional(),
  header_forward: z
    .strictObject({
      add_plaintext_headers: z.record(z.string().max(256), z.string().max(8192)).default({}),
      add_header_files: z
        .record(z.string().max(256), File)
        .default({})
        .describe('Header name to the file with its value.'),
    })
    .prefault({}),
};

const StreamableHttpBackend = z.strictObject({ transport: z.literal('streamable-http'), ...http });
const SseBackend = z.strictObject({ transport: z.literal('sse'), ...http });

/** A process of this machine that speaks MCP on its standard input and output. */
const StdioBackend = z.strictObject({
  transport: z.literal('stdio'),
  ...common,
  command: z.string().min(1).max(4096),
  args: z.array(z.string().max(32_768)).max(256).default([]),
  env: Env.default({}),
  env_files: z.record(z.string().max(256), File).default({}).describe('Variable name to the file with its value.'),
  working_directory: z.string().max(4096).optional(),
  stdio_process: z.enum(['shared', 'perSession']).default('shared'),
});

/** One MCP server behind the endpoint. */
export const Backend = z.discriminatedUnion('transport', [StreamableHttpBackend, SseBackend, StdioBackend]);
export type Backend = z.infer<typeof Backend>;
export type HttpBackend = z.infer<typeof StreamableHttpBackend> | z.infer<typeof SseBackend>;
export type StdioBackend = z.infer<typeof StdioBackend>;
