import { z } from 'zod';
import { mapOf } from './collections.ts';
import { oneBlockPerType } from './one-block-per-type.ts';
import { DnsLabel, HeaderName, HttpUrl, IdentifierUrl, Scopes, text } from './primitives.ts';
import { CaBundleRef, SecretKeyRef } from './references.ts';

const FieldNames = z.array(text(256)).max(16);
const TokenPath = text(512).regex(
  /^[^.\s]+(\.[^.\s]+)*$/,
  'not a dot-notation path; write for example data.access_token',
);

export const UserInfo = z.strictObject({
  endpointUrl: HttpUrl.describe('The user-info endpoint.'),
  httpMethod: z.enum(['GET', 'POST']).default('GET').describe('HTTP method of the call.'),
  additionalHeaders: mapOf(HeaderName, z.string().max(4096), 32).optional().describe('More headers of the call.'),
  fieldMapping: z
    .strictObject({
      subjectFields: FieldNames.optional().describe('Fields tried for the subject, in order.'),
      nameFields: FieldNames.optional().describe('Fields tried for the name, in order.'),
      emailFields: FieldNames.optional().describe('Fields tried for the email address, in order.'),
    })
    .optional()
    .describe('Paths of user attributes in the response.'),
});
export type UserInfo = z.infer<typeof UserInfo>;

const client = {
  clientId: text(512).describe('Client identifier at the provider.'),
  clientSecretRef: SecretKeyRef.optional().describe('Client secret; absent: a public client.'),
  scopes: Scopes.optional().describe('Scopes that are asked for.'),
  redirectUri: HttpUrl.optional().describe(
    'Redirect URI; default (authorizationEndpointBaseUrl or issuer) + /oauth/callback/{provider}.',
  ),
};

export const OAuth2 = z.strictObject({
  authorizationEndpoint: HttpUrl.describe('Authorization endpoint.'),
  tokenEndpoint: HttpUrl.describe('Token endpoint.'),
  ...client,
  userInfo: UserInfo.optional().describe('Request for user attributes.'),
  tokenResponseMapping: z
    .strictObject({
      accessTokenPath: TokenPath.optional().describe('Path of the access token.'),
      scopePath: TokenPath.optional().describe('Path of the scope.'),
      refreshTokenPath: TokenPath.optional().describe('Path of the refresh token.'),
      expiresInPath: TokenPath.optional().describe('Path of the lifetime in seconds.'),
    })
    .optional()
    .describe('Dot-notation paths, for providers that nest tokens at other places of the token response.'),
  identityFromToken: z
    .strictObject({
      subjectPath: TokenPath.describe('Path of the subject.'),
      namePath: TokenPath.optional().describe('Path of the name.'),
      emailPath: TokenPath.optional().describe('Path of the email address.'),
    })
    .optional()
    .describe('Paths of user attributes in the token response.'),
});

export const Oidc = z.strictObject({
  issuerUrl: IdentifierUrl.describe('Issuer of the provider; its discovery document says the rest.'),
  ...client,
  userInfoOverride: UserInfo.optional().describe('User-info call in place of the discovered one.'),
  subjectClaim: text(256).optional().describe('Claim with the stable subject, e.g. oid at Entra; default sub.'),
});

/** One upstream identity provider. A login visits them in list order. */
export const UpstreamProvider = oneBlockPerType(
  z.strictObject({
    name: DnsLabel.describe('Name by which outgoing strategies refer to it.'),
    type: z.enum(['oauth2', 'oidc']).describe('Protocol of the provider.'),
    oauth2Config: OAuth2.optional().describe('An OAuth 2.0 provider without discovery.'),
    oidcConfig: Oidc.optional().describe('An OpenID Connect provider.'),
    required: z.boolean().default(true).describe('false: the user may skip it and link it later.'),
    additionalAuthorizationParams: mapOf(text(256), z.string().max(2048), 32)
      .optional()
      .describe('More parameters of the authorization request.'),
    caBundleRef: CaBundleRef.optional(),
  }),
  { oauth2: { block: 'oauth2Config' }, oidc: { block: 'oidcConfig' } },
);
export type UpstreamProvider = z.infer<typeof UpstreamProvider>;
