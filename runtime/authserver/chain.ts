import type { AuthServer as AuthServerConfig } from '#crds/run-config/auth-server';
import type { ProviderView } from './pages/provider-view.ts';
import type { LinkRow } from './storage/rows.ts';

/** A provider of the chain, as far as people see it. */
type ChainedProvider = Pick<ProviderView, 'name' | 'host' | 'required'>;

/** The chain in its order, and the provider that says who the user is. */
export interface Chain {
  readonly providers: readonly ChainedProvider[];
  readonly primary: ChainedProvider;
}

/** The primary one is the first that is required, unless it is named; a configuration without one is refused before. */
export function chainOf({ upstreams, primary_upstream_provider: named }: AuthServerConfig): Chain {
  const providers = upstreams.map((upstream) => ({
    name: upstream.name,
    required: upstream.required,
    host: new URL(
      upstream.type === 'oidc' ? upstream.oidc_config.issuer_url : upstream.oauth2_config.authorization_endpoint,
    ).host,
  }));
  const primary = providers.find(({ name, required }) => (named === undefined ? required : name === named));
  if (primary === undefined) throw new TypeError('no provider of the chain is the primary one');
  return { providers, primary };
}

/** What is there of a provider: of one that is called `constructor`, too, which every plain object has. */
export function ofProvider<T>(links: Readonly<Record<string, T>>, name: string): T | undefined {
  return Object.hasOwn(links, name) ? links[name] : undefined;
}

/** The chain with what one user has linked. */
export function viewChain({ providers }: Chain, links: Readonly<Record<string, LinkRow>>): readonly ProviderView[] {
  return providers.map((provider) => {
    const link = ofProvider(links, provider.name);
    return { ...provider, state: link?.state ?? 'unlinked', account: link?.account, linkedAt: link?.linked_at };
  });
}
