import type { AuthServer as AuthServerConfig } from '#crds/run-config/auth-server';

/** URLs of the authorization server. They depend on the configuration only, never on a request. */
export interface AuthServerUrls {
  /** Issuer, byte for byte as configured. */
  readonly issuer: string;
  readonly authorize: string;
  readonly consent: string;
  readonly token: string;
  readonly register: string;
  readonly revoke: string;
  readonly introspect: string;
  readonly jwks: string;
  readonly connections: string;
  readonly link: string;
  readonly sharedCallback: (backend: string) => string;
  readonly callback: (provider: string) => string;
}

const join = (base: string, path: string): string => base.replace(/\/$/, '') + path;

/** Returns the URLs. `authorization_endpoint_base_url` replaces the issuer for browsers. */
export function authServerUrls(config: AuthServerConfig): AuthServerUrls {
  const { issuer, upstreams } = config;
  const browser = config.authorization_endpoint_base_url ?? issuer;
  const written = new Map(
    upstreams.map((upstream) => [
      upstream.name,
      upstream.type === 'oidc' ? upstream.oidc_config.redirect_uri : upstream.oauth2_config.redirect_uri,
    ]),
  );
  return {
    issuer,
    authorize: join(browser, '/oauth/authorize'),
    consent: join(browser, '/oauth/consent'),
    token: join(issuer, '/oauth/token'),
    register: join(issuer, '/oauth/register'),
    revoke: join(issuer, '/oauth/revoke'),
    introspect: join(issuer, '/oauth/introspect'),
    jwks: join(issuer, '/.well-known/jwks.json'),
    connections: join(browser, '/connections'),
    link: join(browser, '/connections/link'),
    sharedCallback: (backend) => join(browser, `/connections/callback/${backend}`),
    callback: (provider) => written.get(provider) ?? join(browser, `/oauth/callback/${provider}`),
  };
}
