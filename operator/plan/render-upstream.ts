import type { UpstreamProvider, UserInfo } from '#crds/parts/upstream-provider';
import { LONGEST_REASON } from '#crds/run-config/auth-server';
import type { RunConfigDocument } from '#crds/run-config/run-config';
import { Waiting } from '../errors.ts';
import { defined } from './defined.ts';
import type { FileList } from './file-list.ts';

type AuthServerDocument = NonNullable<RunConfigDocument['embedded_auth_server_config']>;
type UpstreamDocument = AuthServerDocument['upstreams'][number];

type Oauth2Config = NonNullable<UpstreamProvider['oauth2Config']>;
type OidcConfig = NonNullable<UpstreamProvider['oidcConfig']>;

function renderUserInfo(info: UserInfo) {
  const mapping = info.fieldMapping;
  return defined({
    endpoint_url: info.endpointUrl,
    http_method: info.httpMethod,
    additional_headers: info.additionalHeaders,
    field_mapping:
      mapping &&
      defined({
        subject_fields: mapping.subjectFields,
        name_fields: mapping.nameFields,
        email_fields: mapping.emailFields,
      }),
  });
}

function renderClient(config: Oauth2Config | OidcConfig, redirectUri: string, field: string, files: FileList) {
  return defined({
    client_id: config.clientId,
    client_secret_file: config.clientSecretRef && files.credential(config.clientSecretRef, `${field}.clientSecretRef`),
    redirect_uri: redirectUri,
    scopes: config.scopes,
  });
}

function renderOauth2(config: Oauth2Config, redirectUri: string, field: string, files: FileList) {
  const { tokenResponseMapping: mapping, identityFromToken: identity } = config;
  return defined({
    ...renderClient(config, redirectUri, field, files),
    authorization_endpoint: config.authorizationEndpoint,
    token_endpoint: config.tokenEndpoint,
    userinfo: config.userInfo && renderUserInfo(config.userInfo),
    token_response_mapping:
      mapping &&
      defined({
        access_token_path: mapping.accessTokenPath,
        scope_path: mapping.scopePath,
        refresh_token_path: mapping.refreshTokenPath,
        expires_in_path: mapping.expiresInPath,
      }),
    identity_from_token:
      identity &&
      defined({ subject_path: identity.subjectPath, name_path: identity.namePath, email_path: identity.emailPath }),
  });
}

function renderOidc(config: OidcConfig, redirectUri: string, field: string, files: FileList) {
  return defined({
    ...renderClient(config, redirectUri, field, files),
    issuer_url: config.issuerUrl,
    subject_claim: config.subjectClaim,
    userinfo_override: config.userInfoOverride && renderUserInfo(config.userInfoOverride),
  });
}

export function redirectUriOf(provider: UpstreamProvider, base: string): string {
  const written = provider.oauth2Config?.redirectUri ?? provider.oidcConfig?.redirectUri;
  return written ?? `${base.replace(/\/$/, '')}/oauth/callback/${provider.name}`;
}

/** Renders one upstream provider. @throws Waiting for a missing secret */
function renderUpstream(provider: UpstreamProvider, base: string, files: FileList): UpstreamDocument {
  const field = `authServerConfig.upstreamProviders[${provider.name}]`;
  const common = defined({
    name: provider.name,
    required: provider.required,
    additional_authorization_params: provider.additionalAuthorizationParams,
    ca_bundle_file: provider.caBundleRef && files.authorities(provider.caBundleRef, `${field}.caBundleRef`),
  });
  const uri = redirectUriOf(provider, base);
  if (provider.oauth2Config) {
    const config = renderOauth2(provider.oauth2Config, uri, `${field}.oauth2Config`, files);
    return { type: 'oauth2', ...common, oauth2_config: config };
  }
  if (!provider.oidcConfig) throw new TypeError(`${field} has no block; its kind's schema lets none through`);
  return { type: 'oidc', ...common, oidc_config: renderOidc(provider.oidcConfig, uri, `${field}.oidcConfig`, files) };
}

function withoutReferences(provider: UpstreamProvider): UpstreamProvider {
  const { oauth2Config, oidcConfig } = provider;
  return {
    ...provider,
    caBundleRef: undefined,
    oauth2Config: oauth2Config && { ...oauth2Config, clientSecretRef: undefined },
    oidcConfig: oidcConfig && { ...oidcConfig, clientSecretRef: undefined },
  };
}

/** An upstream provider of a document. `missing` is set if the provider is out of service. */
export interface ResolvedUpstream {
  document: UpstreamDocument;
  missing?: Waiting;
}

/** Renders one upstream provider. If its Secret or authorities cannot be used, this provider alone is out of service. */
export function resolveUpstream(provider: UpstreamProvider, base: string, files: FileList): ResolvedUpstream {
  const own = files.part();
  try {
    const document = renderUpstream(provider, base, own);
    files.add(own);
    return { document };
  } catch (problem) {
    if (!(problem instanceof Waiting)) throw problem;
    const document = renderUpstream(withoutReferences(provider), base, own);
    const reason = problem.message.slice(0, LONGEST_REASON).toWellFormed();
    return { document: { ...document, out_of_service: reason }, missing: problem };
  }
}
