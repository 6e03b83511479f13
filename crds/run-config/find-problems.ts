import { urlIsSecure } from '../parts/oidc-config.ts';
import { readTracesUrl } from '../parts/otlp-endpoint.ts';
import { HEADER_VALUE, HeaderName } from '../parts/primitives.ts';
import { privateAddressIn } from '../parts/private-address.ts';
import type { AuthServer } from './auth-server.ts';
import { type DocumentProblem, httpProblems } from './document-problem.ts';
import { findBackendProblems } from './find-backend-problems.ts';
import { findProviderProblems } from './find-provider-problems.ts';
import type { OidcIncoming } from './incoming.ts';
import type { RunConfig } from './run-config.ts';

const AUTH_SERVER = 'embedded_auth_server_config';

function under(path: DocumentProblem['path'], problems: DocumentProblem[]): DocumentProblem[] {
  return problems.map((problem) => ({ ...problem, path: [...path, ...problem.path] }));
}

/** Reports duplicate names: such entries would share tokens, policies and sessions. */
function sameNames(entries: readonly { name: string }[], path: DocumentProblem['path']): DocumentProblem[] {
  const seen = new Set<string>();
  return entries.flatMap(({ name }, index) => {
    if (!seen.has(name)) {
      seen.add(name);
      return [];
    }
    return [{ path: [...path, index, 'name'], message: `"${name}" is there twice; give each entry its own name` }];
  });
}

function primaryProblems({ upstreams, primary_upstream_provider: named }: AuthServer): DocumentProblem[] {
  if (named === undefined) {
    if (upstreams.some(({ required }) => required)) return [];
    return [{ path: ['upstreams'], message: 'no provider says who a user is; set required of one of them' }];
  }
  if (upstreams.some(({ name }) => name === named)) return [];
  return [
    { path: ['primary_upstream_provider'], message: `"${named}" is no upstream provider; write the name of one` },
  ];
}

function authServerProblems(config: AuthServer | undefined): DocumentProblem[] {
  if (config === undefined) return [];
  const { upstreams, insecure_allow_http: allowHttp } = config;
  return under(
    [AUTH_SERVER],
    [
      ...httpProblems(config.issuer, ['issuer']),
      ...httpProblems(config.authorization_endpoint_base_url, ['authorization_endpoint_base_url']),
      ...primaryProblems(config),
      ...sameNames(upstreams, ['upstreams']),
      ...upstreams.flatMap((one, index) => under(['upstreams', index], findProviderProblems(one, allowHttp))),
    ],
  );
}

export function findTracingProblems(settings: RunConfig['telemetry_config']): DocumentProblem[] {
  if (!settings.tracingEnabled) return [];
  const place = readTracesUrl(settings);
  const headers = [
    ...Object.entries(settings.headers ?? {}),
    ...Object.keys(settings.header_files).map((name) => [name]),
  ]
    .filter(([name, value = '']) => !HeaderName.safeParse(name).success || !HEADER_VALUE.test(value))
    .map(([name = '']) => ({
      path: ['headers', name],
      message: 'cannot stand in a request; write a header name, and a value without line breaks',
    }));
  return [
    ...('problem' in place ? [{ path: ['endpoint'], message: place.problem.replace(/^endpoint /, '') }] : []),
    ...headers,
  ];
}

function sealingProblems({ session_storage: storage, sealing_secret_files: files }: RunConfig): DocumentProblem[] {
  if (storage.type === 'memory' || files.length > 0) return [];
  const message = 'is empty, and stored sessions are sealed; name a file with a secret';
  return [{ path: ['sealing_secret_files'], message }];
}

/** Returns problems of a valid document, except for policies and files. The planner rejects all; for the runtime see `concernsAll`. */
export function findProblems(config: RunConfig): DocumentProblem[] {
  const { backends, incoming, embedded_auth_server_config: authServer } = config;
  const providers = authServer?.upstreams.map(({ name }) => name);
  return [
    ...httpProblems(config.resource_url, ['resource_url']),
    ...(incoming.type === 'oidc' ? under(['incoming'], findIssuerProblems(incoming, authServer)) : []),
    ...authServerProblems(authServer),
    ...sameNames(backends, ['backends']),
    ...backends.flatMap((one, index) => under(['backends', index], findBackendProblems(one, providers))),
    ...sealingProblems(config),
    ...under(['telemetry_config'], findTracingProblems(config.telemetry_config)),
  ];
}

/** Returns whether a problem stops the whole runtime. A backend or provider fails alone, and faulty tracing sends no spans. */
export function concernsAll({ path }: DocumentProblem): boolean {
  const [first, second, third, fourth] = path;
  if (first === 'backends') return third === 'name';
  if (first === AUTH_SERVER && second === 'upstreams') return fourth === undefined || fourth === 'name';
  return first !== 'telemetry_config';
}

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
function findIssuerProblems(incoming: OidcIncoming, authServer: AuthServer | undefined): DocumentProblem[] {
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
