import { withoutLoopbackPort } from '#crds/parts/redirect-uri';

export interface RedirectTarget {
  readonly kind: 'web' | 'loopback' | 'app';
  /** Host with port; for an app, its scheme. */
  readonly host: string;
  readonly uri: string;
}

/** Describes a redirect URI, which must be checked already. */
export function describeRedirect(uri: string): RedirectTarget {
  const { protocol, host } = new URL(uri);
  if (withoutLoopbackPort(uri) !== undefined) return { kind: 'loopback', host, uri };
  return protocol === 'https:' ? { kind: 'web', host, uri } : { kind: 'app', host: protocol, uri };
}
