import type { Incoming } from '#crds/run-config/incoming';
import type { AuthenticatorOptions } from './authenticator-options.ts';
import { ANONYMOUS } from './build-identity.ts';
import type { Authenticator } from './identity.ts';
import { createOidcAuthenticator } from './oidc-authenticator.ts';

type Builders = {
  readonly [Type in Incoming['type']]: (
    incoming: Extract<Incoming, { type: Type }>,
    options: AuthenticatorOptions,
  ) => Authenticator;
};

const builders: Builders = {
  anonymous: createAnonymousAuthenticator,
  oidc: createOidcAuthenticator,
};

/** A reload builds a new one and closes the former, which forgets all tokens. @throws ConfigError if this process cannot serve it */
export function createAuthenticator(incoming: Incoming, options: AuthenticatorOptions): Authenticator {
  const build = builders[incoming.type] as (incoming: Incoming, options: AuthenticatorOptions) => Authenticator;
  return build(incoming, options);
}

function createAnonymousAuthenticator(): Authenticator {
  return {
    authenticate: () => ANONYMOUS,
    warnings: ['Anybody who reaches the endpoint may call it (incomingAuth.type: anonymous). For development only.'],
    close: () => undefined,
  };
}
