import { privateAddressIn } from '../parts/private-address.ts';
import { urlIsSecure } from '../parts/oidc-config.ts';
import type { AuthServer } from './auth-server.ts';
import { type DocumentProblem, httpProblems } from './document-problem.ts';
import type { OidcIncoming } from './incoming.ts';

const hasKeys = ({ embedded, jwks, jwks_file: file }: OidcIncoming) =>
  embedded || jwks !== undefined || file !== undefined;

/** Returns the URLs that boundary 1 calls; none if its keys are local. */
function calledUrls(incoming: OidcIncoming): ('jwks_url' | 'introspection_url')[] {
  return [...(hasKeys(incoming) ? [] : (['jwks_url'] as const)), 'introspection_url'];
}

/** Returns whether the runtime uses the issuer's discovery for URLs that the document omits. */
function isDiscovered(incoming: OidcIncoming): boolean {
  const findsKeys = !hasKeys(incoming) && incoming.jwks_url === undefined;
  return findsKeys || (incoming.client_secret_file !== undefined && incoming.introspection_url === undefined);
}

/** Rejects private addresses in the document. The runtime checks the addresses of host names when it connects. */
function findPrivateAddresses(incoming: OidcIncoming): DocumentProblem[] {
  if (incoming.jwks_allow_private_ip) return [];
  const called = [...(isDiscovered(incoming) ? (['issuer'] as const) : []), ...calledUrls(incoming)];
  return called.flatMap((field) => {
    if (field === 'introspection_url' && incoming.protected_resource_allow_private_ip) return [];
    const address = privateAddressIn(incoming[field] ?? '');
    if (address === undefined) return [];
    return [{ path: [field], message: `${address} is a private address; set jwksAllowPrivateIP to allow it` }];
  });
}

/** Returns why boundary 1 would reject every token. Paths are relative to `incoming`. `authServer`: that of the same document. */
export function findIssuerProblems(incoming: OidcIncoming, authServer: AuthServer | undefined): DocumentProblem[] {
  const { insecure_allow_http: allowHttp } = incoming;
  return [
    ...httpProblems(incoming.issuer, ['issuer']),
    ...calledUrls(incoming).flatMap((field) => {
      const problems = httpProblems(incoming[field], [field]);
      if (problems.length > 0 || allowHttp || urlIsSecure.holds(incoming[field])) return problems;
      return [{ path: [field], message: 'http is called on loopback only; write an https URL' }];
    }),
    ...findPrivateAddresses(incoming),
    ...(incoming.client_secret_file !== undefined && incoming.client_id === undefined
      ? [{ path: ['client_secret_file'], message: 'needs incoming.client_id beside it; write client_id' }]
      : []),
    ...(incoming.embedded && authServer === undefined
      ? [
          {
            path: ['embedded'],
            message: 'needs an authorization server in this process; add embedded_auth_server_config',
          },
        ]
      : []),
  ];
}
