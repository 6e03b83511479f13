import { createSecureContext, getCACertificates, type SecureContext } from 'node:tls';

/** Caches the last context: most backends share one bundle, and each context takes 10 ms and 1 MiB. */
let latest: { readonly pem: string; readonly secureContext: SecureContext } | undefined;

/** Adds to Node's authorities and `NODE_EXTRA_CA_CERTS`. Shares one context: Node would parse every authority for each connection. */
export function trustAlso(pem: string | undefined): { readonly secureContext?: SecureContext } {
  if (pem === undefined) return {};
  if (latest?.pem !== pem) {
    latest = { pem, secureContext: createSecureContext({ ca: [...getCACertificates('default'), pem] }) };
  }
  return { secureContext: latest.secureContext };
}
