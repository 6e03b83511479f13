import type { EmbeddedAuthServer } from '#crds/parts/auth-server-config';
import type { SecretKeyRef } from '#crds/parts/references';
import { type Redis, sentinelAddresses } from '#crds/parts/storage';
import type { UpstreamProvider, UserInfo } from '#crds/parts/upstream-provider';
import type { z } from 'zod';
import type { RunAuthServer } from '../../records/run-auth-server.ts';
import { referenceText } from '../secret-reference.ts';
import { present } from '../spec.ts';

type Config = z.output<typeof EmbeddedAuthServer>;
type Upstream = NonNullable<RunAuthServer['upstreams']>[number];
type Storage = NonNullable<RunAuthServer['storage']>;

const ref = (reference: SecretKeyRef | undefined): string | undefined => reference && referenceText(reference);
const refs = (references: readonly SecretKeyRef[] | undefined): string[] | undefined => references?.map(referenceText);

function renderUserInfo(info: UserInfo | undefined) {
  if (!info) return undefined;
  const { subjectFields, nameFields, emailFields } = info.fieldMapping ?? {};
  return present({
    endpoint_url: info.endpointUrl,
    http_method: info.httpMethod,
    additional_headers: info.additionalHeaders,
    field_mapping: present({ subject_fields: subjectFields, name_fields: nameFields, email_fields: emailFields }),
  });
}

function renderUpstream({ name, type, oidcConfig: oidc, oauth2Config: oauth2 }: UpstreamProvider): Upstream {
  const client = (config: NonNullable<typeof oidc | typeof oauth2>) => ({
    client_id: config.clientId,
    client_secret_env_var: ref(config.clientSecretRef),
    redirect_uri: config.redirectUri,
    scopes: config.scopes,
  });
  if (oidc) {
    const { issuerUrl, userInfoOverride } = oidc;
    const config = { ...client(oidc), issuer_url: issuerUrl, userinfo_override: renderUserInfo(userInfoOverride) };
    return { name, type, oidc_config: present(config) ?? {} };
  }
  if (!oauth2) return { name, type };
  const { authorizationEndpoint, tokenEndpoint, userInfo, tokenResponseMapping: paths = {} } = oauth2;
  const config = {
    ...client(oauth2),
    authorization_endpoint: authorizationEndpoint,
    token_endpoint: tokenEndpoint,
    userinfo: renderUserInfo(userInfo),
    token_response_mapping: present({
      access_token_path: paths.accessTokenPath,
      scope_path: paths.scopePath,
      refresh_token_path: paths.refreshTokenPath,
      expires_in_path: paths.expiresInPath,
    }),
  };
  return { name, type, oauth2_config: present(config) ?? {} };
}

const renderTls = (tls: Redis['tls']) =>
  tls && { insecure_skip_verify: tls.insecureSkipVerify, ...present({ ca_cert_file: ref(tls.caCertSecretRef) }) };

function renderStorage({ type, redis }: Config['storage']): Storage {
  if (!redis) return { type };
  const { aclUserConfig: user, sentinelConfig: sentinel } = redis;
  const config = present({
    auth_type: user && 'acl',
    acl_user_config: present({
      username_env_var: ref(user?.usernameSecretRef),
      password_env_var: ref(user?.passwordSecretRef),
    }),
    sentinel_config: sentinel && {
      master_name: sentinel.masterName,
      sentinel_addrs: sentinelAddresses(sentinel),
      db: sentinel.db,
    },
    tls: renderTls(redis.tls),
    sentinel_tls: renderTls(redis.sentinelTls),
    dial_timeout: redis.dialTimeout,
    read_timeout: redis.readTimeout,
    write_timeout: redis.writeTimeout,
    key_prefix: redis.keyPrefix,
  });
  return { type, redis_config: config ?? {} };
}

/** `audience` is the URL of the endpoint that its tokens are for. */
export function renderAuthServer(config: Config, audience: string | undefined): RunAuthServer {
  const [signing, ...fallback] = refs(config.signingKeySecretRefs) ?? [];
  const { accessTokenLifespan, refreshTokenLifespan, authCodeLifespan } = config.tokenLifespans;
  return {
    schema_version: 'v0.1.0',
    issuer: config.issuer,
    allowed_audiences: audience === undefined ? [] : [audience],
    scopes_supported: config.scopesSupported,
    token_lifespans: {
      access_token_lifespan: accessTokenLifespan,
      refresh_token_lifespan: refreshTokenLifespan,
      auth_code_lifespan: authCodeLifespan,
    },
    upstreams: config.upstreamProviders.map(renderUpstream),
    storage: renderStorage(config.storage),
    ...present({
      authorization_endpoint_base_url: config.authorizationEndpointBaseUrl,
      signing_key_config:
        signing === undefined ? undefined : { signing_key_file: signing, fallback_key_files: fallback },
      hmac_secret_files: refs(config.hmacSecretRefs),
    }),
  };
}
