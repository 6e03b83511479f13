import { isLoopbackHost } from '#crds/parts/private-address';
import { urlIsSecure } from '#crds/parts/oidc-config';
import { namesUsers, primaryOf } from '#crds/run-config/auth-server';
import type { RunConfigDocument } from '#crds/run-config/run-config';
import type { Finding } from './finding.ts';

type AuthServerDocument = NonNullable<RunConfigDocument['embedded_auth_server_config']>;
type BackendDocument = RunConfigDocument['backends'][number];

const warning = (type: string, reason: string, message: string): Finding => ({ type, status: 'True', reason, message });

/** Strategies with which all callers share one identity. */
const SHARED = {
  header_injection: true,
  bearer_token: true,
  client_credentials: true,
  remote_auth: true,
  aws_sts: false,
  token_exchange: false,
  unauthenticated: false,
  upstream_inject: false,
  xaa: false,
} satisfies Record<NonNullable<BackendDocument['auth']>['type'], boolean>;

function hasSharedCredential(backend: BackendDocument): boolean {
  const { auth } = backend;
  if (auth && SHARED[auth.type]) return true;
  if (auth?.type === 'aws_sts' && auth.fallback_role_arn !== undefined) return true;
  const files = backend.transport === 'stdio' ? backend.env_files : backend.header_forward?.add_header_files;
  return Object.keys(files ?? {}).length > 0;
}

/** Warns of an embedded authorization server without policies: every account at the provider has access. */
function openToEveryAccount({ authz, backends }: RunConfigDocument): Finding[] {
  if (authz || (backends.length > 0 && backends.every((backend) => backend.authz))) return [];
  const shared = backends.filter(hasSharedCredential).map(({ name }) => name);
  const everybody = 'Every account of the upstream provider gets in: write incomingAuth.authzConfig with policies.';
  const message =
    shared.length === 0
      ? everybody
      : `${everybody} All of them act under one shared credential at: ${shared.join(', ')}.`;
  return [warning('OpenToEveryAccount', shared.length === 0 ? 'NoPolicy' : 'NoPolicyAndSharedCredential', message)];
}

function ephemeralKeys({ signing_key_config: signing, hmac_secret_files: secrets }: AuthServerDocument): Finding[] {
  const lost = [
    ...(signing ? [] : ['tokens issued before can no longer be verified']),
    ...(secrets ? [] : ['codes, refresh tokens and stored upstream tokens can no longer be read']),
  ];
  if (lost.length === 0) return [];
  const remedy = [...(signing ? [] : ['signingKeySecretRefs']), ...(secrets ? [] : ['hmacSecretRefs'])].join(' and ');
  const message = `At each restart new keys are made: ${lost.join('; ')}, so all users must log in again. Write authServerConfig.${remedy}.`;
  return [warning('EphemeralKeys', 'NoKeySecrets', message)];
}

function loginsInMemory({ storage }: AuthServerDocument): Finding[] {
  if (storage?.type !== 'memory') return [];
  const message =
    'At each restart all logins, registered clients and upstream tokens are lost: write authServerConfig.storage.type redis, ' +
    'or on one machine leave storage out.';
  return [warning('LoginsInMemory', 'StorageMemory', message)];
}

/** Warns of a primary provider that does not identify users: each login makes a new user. */
function unnamedUsers(server: AuthServerDocument): Finding[] {
  if (namesUsers(server)) return [];
  const message =
    `The provider "${primaryOf(server)?.name ?? ''}" does not say who a user is. Each login makes a new user, who is known until that login ends: ` +
    'what is linked for a user ends with the login, limits count each login by itself, audit lines have no name, and policies cannot read the principal or claims. ' +
    'Write userInfo or identityFromToken for it.';
  return [warning('UnnamedUsers', 'NoUserInfo', message)];
}

/** Yields the URLs that carry secrets, codes and tokens, by field. */
function* urlsOf(server: AuthServerDocument): Generator<[field: string, url: string]> {
  yield ['issuer', server.issuer];
  if (server.authorization_endpoint_base_url !== undefined) {
    yield ['authorizationEndpointBaseUrl', server.authorization_endpoint_base_url];
  }
  for (const upstream of server.upstreams) {
    const place = `upstreamProviders[${upstream.name}]`;
    if (upstream.type === 'oidc') {
      const { issuer_url: issuer, userinfo_override: info } = upstream.oidc_config;
      yield [`${place}.issuerUrl`, issuer];
      if (info) yield [`${place}.userInfoOverride.endpointUrl`, info.endpoint_url];
    } else {
      yield [`${place}.authorizationEndpoint`, upstream.oauth2_config.authorization_endpoint];
      yield [`${place}.tokenEndpoint`, upstream.oauth2_config.token_endpoint];
      const info = upstream.oauth2_config.userinfo;
      if (info) yield [`${place}.userInfo.endpointUrl`, info.endpoint_url];
    }
  }
}

function plainHttp(server: AuthServerDocument): Finding[] {
  const fields = [...urlsOf(server)].filter(([, url]) => !urlIsSecure.holds(url)).map(([field]) => field);
  if (fields.length === 0) return [];
  const message = `Passwords, codes and tokens go unencrypted through the network, and most clients refuse it: write https URLs in authServerConfig: ${fields.join(', ')}.`;
  return [warning('PlainHttp', 'InsecureAllowHTTP', message)];
}

/** Warns of unusual spellings: clients compare identifiers byte for byte, so some or all of them fail. */
function spelledDifferently(server: AuthServerDocument, resourceUrl: string | undefined): Finding[] {
  const hosts = [server.issuer, server.authorization_endpoint_base_url, resourceUrl].flatMap((url) =>
    url !== undefined && URL.canParse(url) ? [new URL(url).hostname] : [],
  );
  const loopback = [...new Set(hosts.filter(isLoopbackHost))];
  const problems = [
    ...(server.issuer.endsWith('/')
      ? ['authServerConfig.issuer ends with a slash, which stops several clients: remove it there and in incomingAuth']
      : []),
    ...(loopback.length > 1
      ? [`${loopback.join(' and ')} are two hosts to a client: write one of them everywhere`]
      : []),
  ];
  if (problems.length === 0) return [];
  return [warning('IdentifiersDiffer', 'ClientsCompareBytes', `${problems.join('; ')}.`)];
}

function noNewClients({ registration, cimd, clients = [] }: AuthServerDocument): Finding[] {
  if (registration?.enabled !== false || cimd?.enabled === true || clients.length > 0) return [];
  const message =
    'No new client can log in: write authServerConfig.registration.enabled: true, cimd.enabled: true for clients that have a metadata document, or clients for those that you register yourself.';
  return [warning('NoNewClients', 'RegistrationDisabled', message)];
}

export function findAuthServerWarnings(document: RunConfigDocument): Finding[] {
  const server = document.embedded_auth_server_config;
  if (!server) return [];
  return [
    ...openToEveryAccount(document),
    ...ephemeralKeys(server),
    ...loginsInMemory(server),
    ...unnamedUsers(server),
    ...plainHttp(server),
    ...spelledDifferently(server, document.resource_url),
    ...noNewClients(server),
  ];
}
