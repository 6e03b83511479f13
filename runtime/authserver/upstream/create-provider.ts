import type { Upstream } from '#crds/run-config/auth-server';
import { createOAuth2Provider } from './oauth2-provider.ts';
import { createOidcProvider } from './oidc-provider.ts';
import type { ProviderDeps } from './provider-deps.ts';
import type { UpstreamProvider } from './provider.ts';

/** Sends nothing before the first use: an unreachable provider blocks nothing. @throws ConfigError for an unreadable file or plain http */
export function createProvider(upstream: Upstream, deps: ProviderDeps): UpstreamProvider {
  switch (upstream.type) {
    case 'oidc':
      return createOidcProvider(upstream, deps);
    case 'oauth2':
      return createOAuth2Provider(upstream, deps);
  }
}
