import type { AuthServer as AuthServerConfig } from '#crds/run-config/auth-server';
import type { ProviderView } from './pages/provider-view.ts';
import type { LinkRow } from './storage/rows.ts';

type ChainedProvider = Pick<ProviderView, 'name' | 'host' | 'required'>;

export interface Chain {
  readonly providers: readonly ChainedProvider[];
  readonly primary: ChainedProvider;
}

/** The primary provider is the named one, otherwise the first required one. Validation guarantees one. */
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

/** Returns the entry of a provider. A provider may be called `constructor`, a name that every plain object has. */
export function ofProvider<T>(links: Readonly<Record<string, T>>, name: string): T | undefined {
  return Object.hasOwn(links, name) ? links[name] : undefined;
}

export function viewChain({ providers }: Chain, links: Readonly<Record<string, LinkRow>>): readonly ProviderView[] {
  return providers.map((provider) => {
    const link = ofProvider(links, provider.name);
    return { ...provider, state: link?.state ?? 'unlinked', account: link?.account, linkedAt: link?.linked_at };
  });
}
