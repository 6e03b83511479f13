import { z } from 'zod';
import { text } from '../parts/primitives.ts';
import { AuthzConfig, InlineAuthz } from '../parts/authz-config.ts';
import { IncomingAuth } from '../parts/incoming-auth.ts';
import { meaning, objectLike } from '../parts/meaning.ts';
import { InlineOidc } from '../parts/oidc-config.ts';
import { CaBundleRef } from '../parts/references.ts';

const Url = z.url().max(2048);
const TYPE = 'Method that authenticates callers; `anonymous` requires no credentials: for development only.';

/** Boundary 1 without credentials, for development only. */
const AnonymousIncoming = z.strictObject({ type: z.literal('anonymous').describe(TYPE) });

/** The first source of keys wins: `embedded` (this process), `jwks` (in the document), `jwks_file`, `jwks_url`, the issuer's discovery. */
export const OidcIncoming = objectLike(InlineOidc, {
  type: z.literal('oidc').describe(TYPE),
  issuer: Url,
  audience: text(2048).optional().describe('Absent: `resource_url`; neither: not checked, with a warning.'),
  client_id: z.string().max(512).optional(),
  client_secret_file: z
    .string()
    .max(4096)
    .optional()
    .describe('File of the secret for the introspection of opaque tokens (RFC 7662).'),
  introspection_url: Url.optional(),
  scopes: z.array(text(256)).max(64).default([]),
  embedded: z.boolean().default(false).describe('The issuer is the authorization server in this process.'),
  jwks: z
    .strictObject({ keys: z.array(z.record(z.string(), z.unknown())).max(100).describe('Keys as JWKs (RFC 7517).') })
    .optional()
    .describe('Key set, in this document.'),
  jwks_file: z.string().max(4096).optional().describe('File with the key set.'),
  jwks_url: Url.optional(),
  jwks_auth_token_file: z.string().max(4096).optional().describe('File with a bearer token for the key set.'),
  ca_bundle_file: meaning(CaBundleRef, z.string().max(4096).optional()),
  insecure_allow_http: z.boolean().default(false).describe('Allow http URLs that are not on loopback.'),
  jwks_allow_private_ip: z.boolean().default(false),
  protected_resource_allow_private_ip: InlineOidc.shape.protectedResourceAllowPrivateIP,
  groups_claim: z.string().max(256).optional(),
  required_typ: meaning(IncomingAuth.shape.requiredTyp, z.string().max(64).optional()),
  required_subject: z.string().max(512).optional().describe('Only this `sub`, e.g. one service account.'),
});

export const Incoming = z.discriminatedUnion('type', [AnonymousIncoming, OidcIncoming]);
export type Incoming = z.infer<typeof Incoming>;
export type OidcIncoming = z.infer<typeof OidcIncoming>;

/** The Cedar policies of one boundary or one backend. Absent: every authenticated caller is permitted. An empty list permits no caller. */
export const Authz = z.strictObject({
  type: z.literal('cedarv1').default('cedarv1').describe('Language of the policies.'),
  version: z.literal('1.0').default('1.0').describe('Version of this block.'),
  mode: AuthzConfig.shape.mode,
  policies: meaning(InlineAuthz.shape.policies, z.array(z.string().max(65_536)).max(200)),
  entities_json: InlineAuthz.shape.entitiesJson,
  groups_claim: meaning(InlineOidc.shape.groupsClaim, z.string().max(256).optional()),
});
export type Authz = z.infer<typeof Authz>;
