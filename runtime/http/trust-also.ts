import { createSecureContext, getCACertificates, type SecureContext } from 'node:tls';

/** Caches the last context: most backends share one bundle, and each context takes 10 ms and 1 MiB. */
let latest: { readonly pem: string; readonly secureContext: SecureContext } | undefined;

/**
 * Returns the connection option that trusts the authorities of a PEM text in addition to Node's, which include `NODE_EXTRA_CA_CERTS`. All
 * connections share one context: Node would otherwise parse every authority for each connection.
 */
export function trustAlso(pem: string | undefined): { readonly secureContext?: SecureContext } {
  if (pem === undefined) return {};
  if (latest?.pem !== pem) {
    latest = { pem, secureContext: createSecureContext({ ca: [...getCACertificates('default'), pem] }) };
  }
  return { secureContext: latest.secureContext };
}
