import { z } from 'zod';

const Url = z.url().max(2048);

/** Boundary 1 without credentials: development only. */
export const AnonymousIncoming = z.strictObject({ type: z.literal('anonymous') });

/**
 * Boundary 1 with bearer tokens of one issuer. Where keys come from, first that is there: `embedded` (the authorization
 * server in this process), `jwks` (a key set in the document), `jwks_file`, `jwks_url`, else the issuer's discovery.
 */
export const OidcIncoming = z.strictObject({
  type: z.literal('oidc'),
  issuer: Url,
  audience: z
    .string()
    .min(1)
    .max(2048)
    .optional()
    .describe('Absent: `resource_url`; neither: not checked, with a warning.'),
  client_id: z.string().max(512).optional(),
  client_secret_file: z.string().max(4096).optional().describe('With it opaque tokens are introspected (RFC 7662).'),
  introspection_url: Url.optional(),
  scopes: z.array(z.string().min(1).max(256)).max(64).default([]).describe('Scopes that every token must have.'),
  embedded: z.boolean().default(false),
  jwks: z.strictObject({ keys: z.array(z.record(z.string(), z.unknown())).max(100) }).optional(),
  jwks_file: z.string().max(4096).optional(),
  jwks_url: Url.optional(),
  jwks_auth_token_file: z.string().max(4096).optional(),
  ca_bundle_file: z.string().max(4096).optional(),
  insecure_allow_http: z.boolean().default(false),
  jwks_allow_private_ip: z.boolean().default(false),
  protected_resource_allow_private_ip: z.boolean().default(false),
  groups_claim: z.string().max(256).optional(),
  required_typ: z.string().max(64).optional(),
  required_subject: z.string().max(512).optional().describe('Only this `sub`, e.g. one service account.'),
});

export const Incoming = z.discriminatedUnion('type', [AnonymousIncoming, OidcIncoming]);
export type Incoming = z.infer<typeof Incoming>;
export type OidcIncoming = z.infer<typeof OidcIncoming>;

/** The Cedar policies of one boundary or one backend. Absent: every authenticated caller; an empty list: nobody. */
export const Authz = z.strictObject({
  type: z.literal('cedarv1').default('cedarv1'),
  version: z.literal('1.0').default('1.0'),
  mode: z.enum(['enforce', 'audit']).default('enforce'),
  policies: z.array(z.string().max(65_536)).max(200),
  entities_json: z.string().max(262_144).default('[]'),
  groups_claim: z.string().max(256).optional(),
});
export type Authz = z.infer<typeof Authz>;
