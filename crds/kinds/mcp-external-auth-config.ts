import { z } from 'zod';
import { EmbeddedAuthServer } from '../parts/auth-server-config.ts';
import { backReferences, Phase, statusFields } from '../parts/conditions.ts';
import { oneBlockPerType } from '../parts/one-block-per-type.ts';
import { DnsLabel, AddedHeaderName, HostPattern, HttpUrl, ObjectName, Scopes, text } from '../parts/primitives.ts';
import { CaBundleRef, SecretKeyRef } from '../parts/references.ts';
import { needs, withRules } from '../parts/rule.ts';
import { resource } from './resource.ts';

const TokenExchange = withRules(
  z.strictObject({
    tokenUrl: HttpUrl.describe('Token endpoint that exchanges (RFC 8693).'),
    clientId: text(512).optional().describe('Client identifier at that endpoint.'),
    clientSecretRef: SecretKeyRef.optional().describe('Client secret.'),
    audience: text(2048).optional().describe('`audience` that is asked for.'),
    scopes: Scopes.optional().describe('Scopes that are asked for.'),
    subjectTokenType: text(256)
      .optional()
      .describe('Type of the subject token; default urn:ietf:params:oauth:token-type:access_token.'),
    subjectProviderName: DnsLabel.optional().describe(
      "Provider whose stored token is the subject token; absent: the caller's own token.",
    ),
    externalTokenHeaderName: AddedHeaderName.optional().describe(
      'Header that carries the token; default Authorization.',
    ),
    caBundleRef: CaBundleRef.optional(),
  }),
  needs(['clientSecretRef'], ['clientId']),
);

const Arn = z
  .string()
  .max(2048)
  .regex(/^arn:[^\s]+$/, 'not an ARN; write arn:aws:iam::<account>:role/<role>');

const AwsSts = z.strictObject({
  region: text(64).describe('AWS region.'),
  service: text(64).optional().describe('Service name of the signature; default aws-mcp.'),
  roleClaim: text(256)
    .optional()
    .describe('Claim whose values stand for roles, or name one by its ARN; default of mappings: groups.'),
  roleMappings: z
    .array(
      z.strictObject({
        claim: text(256).optional().describe('Claim that is looked at; without a matcher, a value of the role claim.'),
        matcher: text(1024).optional().describe('Value that it must have; * stands for any text.'),
        priority: z.int().min(0).max(1_000_000).optional().describe('The lowest one that matches wins; absent: last.'),
        roleArn: Arn.describe('Role that is assumed.'),
      }),
    )
    .max(100)
    .optional()
    .describe('Which caller gets which role.'),
  fallbackRoleArn: Arn.optional().describe('Role when none matches; absent: the call is refused.'),
  sessionDuration: z.int().min(900).max(43_200).optional().describe('Seconds that the credentials last; default 3600.'),
  sessionNameClaim: text(256).optional().describe('Claim that names the session; default sub.'),
});

const Types = z.strictObject({
  type: z
    .enum([
      'upstreamInject',
      'tokenExchange',
      'headerInjection',
      'bearerToken',
      'unauthenticated',
      'awsSts',
      'embeddedAuthServer',
    ])
    .describe('How requests are authenticated.'),
  upstreamInject: z
    .strictObject({ providerName: DnsLabel.describe('Name of an entry of authServerConfig.upstreamProviders.') })
    .optional()
    .describe("The caller's stored token of an upstream provider becomes Authorization."),
  tokenExchange: TokenExchange.optional().describe('A token is exchanged for one of the backend (RFC 8693).'),
  headerInjection: z
    .strictObject({
      headerName: AddedHeaderName.describe('Name of the header.'),
      valueSecretRef: SecretKeyRef.describe('Its value.'),
    })
    .optional()
    .describe('A fixed header.'),
  bearerToken: z
    .strictObject({ tokenSecretRef: SecretKeyRef.describe('The token.') })
    .optional()
    .describe('A fixed bearer token.'),
  awsSts: AwsSts.optional().describe('Credentials of AWS STS sign the request.'),
  embeddedAuthServer: EmbeddedAuthServer.optional().describe(
    'An authorization server for one MCPServer by itself, with one provider.',
  ),
  allowedHosts: z
    .array(HostPattern)
    .max(100)
    .optional()
    .describe('Hosts that may receive these credentials: host[:port] or *.suffix. Absent: all.'),
  allowedServers: z
    .array(ObjectName)
    .max(500)
    .optional()
    .describe('MCPServers that may use this. Absent: all of the namespace.'),
});

export const MCPExternalAuthConfigSpec = oneBlockPerType(Types, {
  upstreamInject: { block: 'upstreamInject' },
  tokenExchange: { block: 'tokenExchange' },
  headerInjection: { block: 'headerInjection' },
  bearerToken: { block: 'bearerToken' },
  unauthenticated: 'none',
  awsSts: { block: 'awsSts' },
  embeddedAuthServer: { block: 'embeddedAuthServer' },
});

const Status = z.object({
  phase: Phase.optional().describe('Pending, Ready, Degraded or Failed.'),
  ...backReferences,
  ...statusFields,
});

/** Authentication at a backend. */
export const MCPExternalAuthConfig = resource('MCPExternalAuthConfig', MCPExternalAuthConfigSpec, Status);
export type MCPExternalAuthConfig = z.infer<typeof MCPExternalAuthConfig>;
