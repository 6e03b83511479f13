import { lookup as systemLookup, type LookupAddress } from 'node:dns';
import type { LookupFunction } from 'node:net';
import { isPrivateAddress } from '#crds/parts/private-address';

/** A name or address that the configuration does not allow to be called. */
export class AddressRefused extends Error {
  override readonly name = 'AddressRefused';
  readonly code = 'ADDRESS_REFUSED';
}

/**
 * A DNS lookup that yields no private address. The connection uses what it returns, so a name that resolves differently a
 * moment later (DNS rebinding) gains nothing. One private address among several refuses them all.
 */
export function publicLookup(lookup: typeof systemLookup = systemLookup): LookupFunction {
  return (hostname, options, callback) => {
    lookup(hostname, { ...options, all: true }, (error, addresses) => {
      const fault = error ?? faultOf(hostname, addresses);
      if (fault) callback(fault, []);
      else if (options.all) callback(null, addresses);
      else callback(null, addresses[0]?.address ?? '', addresses[0]?.family);
    });
  };
}

function faultOf(hostname: string, addresses: readonly LookupAddress[]): AddressRefused | undefined {
  if (addresses.length > 0 && !addresses.some(({ address }) => isPrivateAddress(address))) return undefined;
  return new AddressRefused(`${hostname} resolves to a private address`);
}
