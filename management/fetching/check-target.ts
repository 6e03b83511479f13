import { lookup as systemLookup } from 'node:dns';
import { isIP } from 'node:net';
import { isLoopbackHost, isPrivateAddress } from '#crds/parts/private-address';
import { Problem } from '../problem.ts';
import { FetchFailure } from './fetch-failure.ts';

export interface AddressRules {
  /** Allows private, loopback and link-local addresses, and plain HTTP to these only. */
  allowPrivateAddress: boolean;
  /** Remedy for a rejected address: `set allow_private_ip to allow it`. */
  remedy: string;
}

/**
 * Returns the URL if it may be called. The connection checks the addresses of host names again; an IP address in the
 * URL skips that lookup, so it is checked here.
 * @throws FetchFailure `refused`
 */
export async function checkTarget(url: string, rules: AddressRules, lookup = systemLookup): Promise<URL> {
  const target = URL.parse(url);
  if (target === null || !/^https?:$/.test(target.protocol) || target.username !== '' || target.password !== '')
    throw new FetchFailure('refused', 'it is no https URL without user name and password');
  const host = target.hostname.replace(/^\[|\]$/g, '');
  if (!rules.allowPrivateAddress && isIP(host) !== 0 && isPrivateAddress(host))
    throw new FetchFailure('refused', `${target.host} is a private address; ${rules.remedy}`);
  if (target.protocol === 'http:') await checkPlain(target, host, rules, lookup);
  return target;
}

/** Rejects plain HTTP to public hosts, because the connection could be intercepted. */
async function checkPlain(target: URL, host: string, rules: AddressRules, lookup: typeof systemLookup): Promise<void> {
  const secure = `${target.host} is not called over plain http; write an https URL`;
  if (!rules.allowPrivateAddress) throw new FetchFailure('refused', secure);
  if (isLoopbackHost(target.hostname)) return;
  const addresses = isIP(host) === 0 ? await resolve(host, lookup) : [host];
  if (!addresses.every(isPrivateAddress)) throw new FetchFailure('refused', secure);
}

function resolve(host: string, lookup: typeof systemLookup): Promise<string[]> {
  return new Promise((give, fail) => {
    lookup(host, { all: true }, (error, found) => {
      if (error) fail(new FetchFailure('unreachable', `${host} is not known to the name server`, { cause: error }));
      else give(found.map(({ address }) => address));
    });
  });
}

export const PRIVATE_OFF =
  'whoever runs the management API allows it none (--allow-private-addresses, chart value management.allowPrivateAddresses)';

/** The caller may not have access to the network of this process. @throws Problem `private_address_refused` */
export function checkPrivate(wanted: boolean, allowed: boolean): void {
  if (wanted && !allowed)
    throw new Problem('private_address_refused', `allow_private_ip: ${PRIVATE_OFF}; leave it out`);
}
