import { z } from 'zod';

const Url = z.url().max(2048);
const File = z.string().min(1).max(4096);

const Unauthenticated = z.strictObject({ type: z.literal('unauthenticated') });
const HeaderInjection = z.strictObject({
  type: z.literal('header_injection'),
  header_name: z.string().regex(/^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,256}$/),
  value_file: File,
});
const BearerToken = z.strictObject({ type: z.literal('bearer_token'), token_file: File });

/** RFC 8693. The subject token is the caller's own JWT, or with `subject_provider_name` that provider's stored token. */
export const TokenExchange = z.strictObject({
  type: z.literal('token_exchange'),
  token_url: Url,
  client_id: z.string().max(512).optional(),
  client_secret_file: File.optional(),
  audience: z.string().max(2048).optional(),
  scopes: z.array(z.string().min(1).max(256)).max(64).default([]),
  subject_token_type: z.string().max(256).optional(),
  subject_provider_name: z.string().max(63).optional(),
  external_token_header_name: z.string().max(256).optional(),
  ca_bundle_file: File.optional(),
});
export type TokenExchange = z.infer<typeof TokenExchange>;

const UpstreamInject = z.strictObject({
  type: z.literal('upstream_inject'),
  provider_name: z.string().max(63),
  header_strategy: z.enum(['replace', 'custom']).default('replace'),
  custom_header_name: z.string().max(256).optional(),
});

const AwsSts = z.strictObject({
  type: z.literal('aws_sts'),
  region: z.string().max(64),
  service: z.string().max(64).optional(),
  role_claim: z.string().max(256).optional(),
  role_mappings: z
    .array(
      z.strictObject({
        claim: z.string().max(256).optional(),
        matcher: z.string().max(1024).optional(),
        priority: z.int().optional(),
        role_arn: z.string().max(2048),
      }),
    )
    .max(100)
    .default([]),
  fallback_role_arn: z.string().max(2048).optional(),
  session_duration: z.int().min(900).max(43_200).optional(),
  session_name_claim: z.string().max(256).optional(),
});

/** Boundary 2 of one backend. */
export const BackendAuth = z.discriminatedUnion('type', [
  Unauthenticated,
  HeaderInjection,
  BearerToken,
  TokenExchange,
  UpstreamInject,
  AwsSts,
]);
export type BackendAuth = z.infer<typeof BackendAuth>;
