import type { BackendAuth } from '#crds/run-config/outgoing';
import { ConfigError } from '#runtime/errors';
import { awsSts } from './aws-sts.ts';
import { clientCredentials } from './client-credentials.ts';
import type { CredentialDeps } from './credential-deps.ts';
import type { Credential } from './credential.ts';
import { headerValue, unauthenticated } from './static-header.ts';
import { tokenExchange } from './token-exchange.ts';
import { upstreamInject } from './upstream-inject.ts';
import { xaa } from './xaa.ts';

type AuthByType = { [Type in BackendAuth['type']]: Extract<BackendAuth, { type: Type }> };
type Strategies = { [Type in keyof AuthByType]: (auth: AuthByType[Type], deps: CredentialDeps) => Credential };

const strategies: Strategies = {
  unauthenticated: () => unauthenticated,
  header_injection: (auth, deps) =>
    headerValue({ authType: 'headerInjection', name: auth.header_name, file: auth.value_file, prefix: '' }, deps),
  bearer_token: (auth, deps) =>
    headerValue({ authType: 'bearerToken', name: 'authorization', file: auth.token_file, prefix: 'Bearer ' }, deps),
  token_exchange: tokenExchange,
  xaa,
  client_credentials: clientCredentials,
  upstream_inject: upstreamInject,
  aws_sts: awsSts,
  remote_auth: (_auth, { backend }) => {
    // remote-login/open-remote-credential.ts creates this credential, because it opens a store first.
    throw new ConfigError(`backend ${backend}: remote_auth is for backends that are reached over HTTP`);
  },
};

/** Returns boundary 2 of one backend. @throws ConfigError if a file is unusable, or a collaborator of this type is missing */
export function createCredential<Type extends keyof AuthByType>(
  auth: AuthByType[Type] & { type: Type },
  deps: CredentialDeps,
): Credential {
  return strategies[auth.type](auth, deps);
}
