const LOOPBACK = /^(http:\/\/(?:127\.0\.0\.1|\[::1\]|localhost))(?::\d{1,5})?(?=[/?]|$)/;

/** A loopback http URI without its port; undefined: it is no such URI. Spelled otherwise, loopback is not taken for it. */
export function withoutLoopbackPort(uri: string): string | undefined {
  return LOOPBACK.test(uri) ? uri.replace(LOOPBACK, '$1') : undefined;
}

/**
 * Whether a client may have answers sent there: byte for byte one of its own URIs (RFC 9700 §4.1.3), but for the port on
 * loopback, which a native client does not know before (RFC 8252 §7.3).
 */
export function matchRedirectUri(asked: string, registered: readonly string[]): boolean {
  if (registered.includes(asked)) return true;
  const place = withoutLoopbackPort(asked);
  if (place === undefined || asked.includes('#') || !URL.canParse(asked)) return false;
  return registered.some((uri) => withoutLoopbackPort(uri) === place);
}
