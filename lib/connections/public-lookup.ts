import { lookup as systemLookup, type LookupAddress } from 'node:dns';
import type { LookupFunction } from 'node:net';
import { isPrivateAddress } from '#crds/parts/private-address';

/** The configuration does not allow calls to this name or address. */
export class AddressRefused extends Error {
  override readonly name = 'AddressRefused';
  readonly code = 'ADDRESS_REFUSED';
}

/**
 * Creates a DNS lookup that rejects names with a private address, also beside public ones. The connection uses the returned address, so
 * DNS rebinding has no effect.
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
