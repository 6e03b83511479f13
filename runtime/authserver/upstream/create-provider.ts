import type { Upstream } from '#crds/run-config/auth-server';
import { createOAuth2Provider } from './oauth2-provider.ts';
import { createOidcProvider } from './oidc-provider.ts';
import type { ProviderDeps } from './provider-deps.ts';
import type { UpstreamProvider } from './provider.ts';

/**
 * Creates an upstream provider. It sends no request before its first use, so an unreachable provider blocks nothing
 * else. @throws ConfigError when a file cannot be read, or a URL is plain http where that is not allowed
 */
export function createProvider(upstream: Upstream, deps: ProviderDeps): UpstreamProvider {
  switch (upstream.type) {
    case 'oidc':
      return createOidcProvider(upstream, deps);
    case 'oauth2':
      return createOAuth2Provider(upstream, deps);
  }
}
