import { urlIsSecure } from '../parts/oidc-config.ts';
import { HEADER_VALUE, HeaderName } from '../parts/primitives.ts';
import type { Upstream } from './auth-server.ts';
import { type DocumentProblem, httpProblems } from './document-problem.ts';

/** Rejects insecure URLs, as secrets and tokens are sent to them. */
function urlProblems(url: string | undefined, path: DocumentProblem['path'], allowHttp: boolean): DocumentProblem[] {
  const problems = httpProblems(url, path);
  if (problems.length > 0 || url === undefined || allowHttp || urlIsSecure.holds(url)) return problems;
  return [{ path, message: 'plain http off this machine; write an https URL, or set insecure_allow_http' }];
}

type UserInfo = Extract<Upstream, { type: 'oidc' }>['oidc_config']['userinfo_override'];

function userInfoProblems(info: UserInfo, path: DocumentProblem['path'], allowHttp: boolean): DocumentProblem[] {
  if (!info) return [];
  const headers = Object.entries(info.additional_headers)
    .filter(([name, value]) => !HeaderName.safeParse(name).success || !HEADER_VALUE.test(value))
    .map(([name]) => ({
      path: [...path, 'additional_headers', name],
      message: 'cannot stand in a request; write a header name, and a value without line breaks',
    }));
  return [...urlProblems(info.endpoint_url, [...path, 'endpoint_url'], allowHttp), ...headers];
}

/** Returns why one upstream provider cannot be used, except for the content of its files. Paths are relative to the provider. */
export function findProviderProblems(upstream: Upstream, allowHttp: boolean): DocumentProblem[] {
  if (upstream.type === 'oidc') {
    const { issuer_url: issuer, userinfo_override: override } = upstream.oidc_config;
    return [
      ...urlProblems(issuer, ['oidc_config', 'issuer_url'], allowHttp),
      ...userInfoProblems(override, ['oidc_config', 'userinfo_override'], allowHttp),
    ];
  }
  const { oauth2_config: config } = upstream;
  return [
    ...urlProblems(config.authorization_endpoint, ['oauth2_config', 'authorization_endpoint'], allowHttp),
    ...urlProblems(config.token_endpoint, ['oauth2_config', 'token_endpoint'], allowHttp),
    ...userInfoProblems(config.userinfo, ['oauth2_config', 'userinfo'], allowHttp),
  ];
}
