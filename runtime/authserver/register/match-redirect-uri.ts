import { withoutLoopbackPort } from '#crds/parts/redirect-uri';

/** Must equal byte for byte (RFC 9700 §4.1.3), except the loopback port: a native client does not know it in advance (RFC 8252 §7.3). */
export function matchRedirectUri(asked: string, registered: readonly string[]): boolean {
  if (registered.includes(asked)) return true;
  const place = withoutLoopbackPort(asked);
  if (place === undefined || asked.includes('#') || !URL.canParse(asked)) return false;
  return registered.some((uri) => withoutLoopbackPort(uri) === place);
}
