import { withoutLoopbackPort } from '../register/match-redirect-uri.ts';

/** Where a client gets its answer, as a person can judge it. */
export interface RedirectPlace {
  readonly kind: 'web' | 'loopback' | 'app';
  /** The host with its port; of an app, its scheme. */
  readonly host: string;
  readonly uri: string;
}

/** `uri` is a redirect URI that was checked. */
export function redirectPlace(uri: string): RedirectPlace {
  const { protocol, host } = new URL(uri);
  if (withoutLoopbackPort(uri) !== undefined) return { kind: 'loopback', host, uri };
  return protocol === 'https:' ? { kind: 'web', host, uri } : { kind: 'app', host: protocol, uri };
}
