import { z } from 'zod';
import { secureUrl } from './oidc-config.ts';
import { AddedHeaderName, DnsLabel, HttpUrl, Scopes, text } from './primitives.ts';
import { CaBundleRef, SecretKeyRef } from './references.ts';
import { exactlyOne, needs, withRules } from './rule.ts';

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

/** Enterprise-managed authorization: the caller's ID token becomes an ID-JAG, which becomes a token of the backend. */
export const Xaa = withRules(
  z.strictObject({
    idpTokenUrl: HttpUrl.describe('Token endpoint of the identity provider, which issues the ID-JAG (RFC 8693).'),
    idpClientId: text(512).optional().describe('Client identifier at the identity provider.'),
    idpClientSecretRef: SecretKeyRef.optional().describe('Client secret at the identity provider.'),
    targetTokenUrl: HttpUrl.describe("Token endpoint of the backend's authorization server, which redeems the ID-JAG."),
    targetClientId: text(512).optional().describe('Client identifier at targetTokenUrl.'),
    targetClientSecretRef: SecretKeyRef.optional().describe('Client secret at targetTokenUrl.'),
    targetAudience: text(2048).describe("Issuer of the backend's authorization server: `aud` of the ID-JAG."),
    targetResource: text(2048)
      .optional()
      .describe('Resource identifier of the backend, as in its metadata (RFC 9728).'),
    scopes: Scopes.optional().describe('Scopes that are asked for.'),
    subjectProviderName: DnsLabel.optional().describe(
      'Provider whose stored ID token is exchanged; default the first one.',
    ),
    subjectTokenType: z
      .enum(['urn:ietf:params:oauth:token-type:id_token', 'id_token'])
      .optional()
      .describe('Type of the subject token; default urn:ietf:params:oauth:token-type:id_token.'),
    insecureTargetTokenUrl: z
      .boolean()
      .optional()
      .describe('Allow an http targetTokenUrl that is not on loopback; default false.'),
    caBundleRef: CaBundleRef.optional(),
  }),
  needs(['idpClientSecretRef'], ['idpClientId']),
  needs(['targetClientSecretRef'], ['targetClientId']),
  secureUrl(['idpTokenUrl']),
  secureUrl(['targetTokenUrl'], ['insecureTargetTokenUrl']),
);

/** A token of vmcp's own client at the authorization server of a backend (RFC 6749 §4.4). */
export const ClientCredentials = withRules(
  z.strictObject({
    tokenUrl: HttpUrl.describe('Token endpoint.'),
    clientId: text(512).describe('Client identifier at that endpoint.'),
    clientSecretRef: SecretKeyRef.optional().describe('Client secret, sent by HTTP Basic.'),
    privateKeyRef: SecretKeyRef.optional().describe(
      'Private key in PEM form, which signs the client assertions of private_key_jwt (RFC 7523).',
    ),
    privateKeyId: text(256).optional().describe('`kid` of the client assertions, with privateKeyRef.'),
    issuer: text(2048)
      .optional()
      .describe('Issuer of the authorization server: `aud` of the client assertions; default tokenUrl.'),
    audience: text(2048).optional().describe('`audience` that is asked for.'),
    resource: text(2048).optional().describe('Resource indicator that is asked for (RFC 8707).'),
    scopes: Scopes.optional().describe('Scopes that are asked for.'),
    externalTokenHeaderName: AddedHeaderName.optional().describe(
      'Header that carries the token; default Authorization.',
    ),
    caBundleRef: CaBundleRef.optional(),
  }),
  exactlyOne('clientSecretRef', 'privateKeyRef'),
  needs(['privateKeyId'], ['privateKeyRef']),
  needs(['issuer'], ['privateKeyRef']),
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
