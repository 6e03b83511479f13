import type { Upstream } from '#crds/run-config/auth-server';
import { createOAuth2Provider } from './oauth2-provider.ts';
import { createOidcProvider } from './oidc-provider.ts';
import type { ProviderDeps } from './provider-deps.ts';
import type { UpstreamProvider } from './provider.ts';

/**
 * One upstream provider of the configuration. Nothing is asked before it is used: one that is down stops nothing else.
 * @throws ConfigError: a file cannot be read, or a URL is plain http where that is not allowed
 */
export function createProvider(upstream: Upstream, deps: ProviderDeps): UpstreamProvider {
  switch (upstream.type) {
    case 'oidc':
      return createOidcProvider(upstream, deps);
    case 'oauth2':
      return createOAuth2Provider(upstream, deps);
  }
}
