/** Pattern of a host that is this machine whatever a name server says, as in a URL. */
export const LOOPBACK_HOST = '(localhost|127([.][0-9]{1,3}){3}|\\[::1\\])';

const WHOLE = new RegExp(`^${LOOPBACK_HOST}$`);

/** Whether the host of a parsed URL (WHATWG `hostname`: lower case, IPv6 in brackets) is loopback. */
export function isLoopbackHost(hostname: string): boolean {
  return WHOLE.test(hostname);
}
