import { z } from 'zod';
import { AuthzConfig } from './authz-config.ts';
import { OidcConfig, OidcConfigRef, ResourceUrl } from './oidc-config.ts';
import { HostPattern, text } from './primitives.ts';
import { agree, type Rule, withRules } from './rule.ts';

const MISSING =
  'required field is missing; write type: oidc with its issuer, or type: anonymous, which lets every caller in: development only';

const members = {
  type: z
    .enum(['anonymous', 'oidc'])
    .describe(
      '`anonymous` asks for no credentials, and every caller is Client::"anonymous" to policies: development only.',
    ),
  resourceUrl: ResourceUrl.optional(),
  oidcConfig: OidcConfig.optional().describe('The issuer whose tokens are let in.'),
  oidcConfigRef: OidcConfigRef.optional().describe('The same, shared by a MCPOIDCConfig.'),
  jwksAllowPrivateIP: z
    .boolean()
    .optional()
    .describe('Allow a key set at a private address. Not needed with the embedded authorization server.'),
  authzConfig: AuthzConfig.optional(),
  allowedHosts: z
    .array(HostPattern)
    .max(100)
    .optional()
    .describe('Host headers that are accepted besides those of resourceUrl, the issuer and the Service.'),
  allowedOrigins: z
    .array(
      z
        .string()
        .max(2048)
        .regex(/^[a-z][a-z0-9+.-]*:\/\/[^\s/?#@]+$/, 'not an origin; write scheme://host or scheme://host:port'),
    )
    .max(100)
    .optional()
    .describe("Origin headers that are accepted besides the endpoint's own; they get CORS."),
  requiredTyp: text(64).optional().describe('The only accepted `typ` header of tokens, e.g. at+jwt.'),
};

const Fields = z.strictObject(members, { error: ({ input }) => (input === undefined ? MISSING : undefined) });

const issuerRule: Rule<z.infer<typeof Fields>> = {
  at: ['type'],
  message: 'type oidc needs exactly one of oidcConfig and oidcConfigRef; write one of them, and no more than one',
  holds: ({ type, oidcConfig, oidcConfigRef }) =>
    type !== 'oidc' || (oidcConfig === undefined) !== (oidcConfigRef === undefined),
  cel: "self.type != 'oidc' || has(self.oidcConfig) != has(self.oidcConfigRef)",
};

/** Boundary 1: from the client to the endpoint. */
export const IncomingAuth = withRules(
  Fields,
  issuerRule,
  agree(['resourceUrl'], ['oidcConfig', 'resourceUrl'], 'write one URL, at one of the two places'),
  agree(['resourceUrl'], ['oidcConfigRef', 'resourceUrl'], 'write one URL, at one of the two places'),
  agree(
    ['jwksAllowPrivateIP'],
    ['oidcConfig', 'inline', 'jwksAllowPrivateIP'],
    'write one value, at one of the two places',
  ),
);
export type IncomingAuth = z.infer<typeof IncomingAuth>;

export function resourceUrlOf(incoming: IncomingAuth): string | undefined {
  return incoming.resourceUrl ?? incoming.oidcConfig?.resourceUrl ?? incoming.oidcConfigRef?.resourceUrl;
}
