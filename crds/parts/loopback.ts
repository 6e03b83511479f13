/** Pattern of a URL's host that is loopback without a name lookup. */
export const LOOPBACK_HOST = '(localhost|127([.][0-9]{1,3}){3}|\\[::1\\])';

const WHOLE = new RegExp(`^${LOOPBACK_HOST}$`);

/** Returns whether the host of a parsed URL (WHATWG `hostname`: lower case, IPv6 in brackets) is loopback. */
export function isLoopbackHost(hostname: string): boolean {
  return WHOLE.test(hostname);
}
