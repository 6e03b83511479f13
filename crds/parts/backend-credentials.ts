import { z } from 'zod';
import { AddedHeaderName, DnsLabel, HttpUrl, Scopes, text } from './primitives.ts';
import { CaBundleRef, SecretKeyRef } from './references.ts';
import { needs, withRules } from './rule.ts';

/** A token exchange at the authorization server of a backend (RFC 8693). */
export const TokenExchange = withRules(
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

export const AwsSts = z.strictObject({
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
    .describe('Maps callers to roles.'),
  fallbackRoleArn: Arn.optional().describe('Role when none matches; absent: the call is refused.'),
  sessionDuration: z.int().min(900).max(43_200).optional().describe('Seconds that the credentials last; default 3600.'),
  sessionNameClaim: text(256).optional().describe('Claim that names the session; default sub.'),
});
