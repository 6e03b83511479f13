import { urlIsSecure } from '../parts/oidc-config.ts';
import type { AuthServer } from './auth-server.ts';
import { type DocumentProblem, httpProblems } from './document-problem.ts';
import type { OidcIncoming } from './incoming.ts';

/** Boundary 1 calls these, unless its keys are at hand. */
function calledUrls(incoming: OidcIncoming): ('jwks_url' | 'introspection_url')[] {
  const hasKeys = incoming.embedded || incoming.jwks !== undefined || incoming.jwks_file !== undefined;
  return [...(hasKeys ? [] : (['jwks_url'] as const)), 'introspection_url'];
}

/** Returns why boundary 1 could let no token in. Paths begin at `incoming`. `authServer`: that of the same document. */
export function findIssuerProblems(incoming: OidcIncoming, authServer: AuthServer | undefined): DocumentProblem[] {
  const { insecure_allow_http: allowHttp } = incoming;
  return [
    ...httpProblems(incoming.issuer, ['issuer']),
    ...calledUrls(incoming).flatMap((field) => {
      const problems = httpProblems(incoming[field], [field]);
      if (problems.length > 0 || allowHttp || urlIsSecure.holds(incoming[field])) return problems;
      return [{ path: [field], message: 'http is called on loopback only; write an https URL' }];
    }),
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
