import type { RunConfigDocument } from '#crds/run-config/run-config';
import { shortHash, type Caller } from '../fakes/whoami/describe-caller.ts';
import { serveIdentityProvider, type IdentityProvider } from '../fakes/identity-provider/serve.ts';
import { GATEWAY_CLIENT } from '../fakes/identity-provider/users.ts';
import { NESTED } from '../fakes/oauth-provider/nested-answers.ts';
import { CLIENT_ID, CLIENT_SECRET, type OAuthProviderOptions } from '../fakes/oauth-provider/options.ts';
import { serveOAuthProvider, type OAuthProvider } from '../fakes/oauth-provider/serve.ts';

type AuthServerDocument = NonNullable<RunConfigDocument['embedded_auth_server_config']>;
type UpstreamDocument = AuthServerDocument['upstreams'][number];

/** Real: oidc-provider with alice and bob. Odd: a fake that fails on purpose; with `oidc` in its options it gives ID tokens. */
export interface ProviderSpec {
  readonly name: string;
  readonly kind: 'real' | 'odd';
  readonly required?: boolean;
  readonly options?: OAuthProviderOptions;
  /** The provider does not identify the user: the server requests no user-info. */
  readonly isUnnamed?: boolean;
  /** Lifespan of a real provider's access tokens, in seconds. */
  readonly tokenLifetime?: number;
  /** Further configuration, e.g. `additional_authorization_params`. */
  readonly more?: Partial<Pick<UpstreamDocument, 'additional_authorization_params'>>;
}

export interface RunningProvider {
  readonly name: string;
  /** Host and port. */
  readonly host: string;
  readonly issuer: string;
  readonly tokenUrl: string;
  readonly upstream: UpstreamDocument;
  readonly secret: string;
  readonly real: IdentityProvider | undefined;
  readonly odd: OAuthProvider | undefined;
  close(): Promise<void>;
}

/** Starts a provider. `callbacks`: the redirect URIs that it knows. `secretFile`: path for its client secret. */
export async function startProvider(
  spec: ProviderSpec,
  callbacks: readonly string[],
  secretFile: string,
): Promise<RunningProvider> {
  return spec.kind === 'real' ? startReal(spec, callbacks, secretFile) : startOdd(spec, secretFile);
}

async function startReal(
  { name, required = true, tokenLifetime, more }: ProviderSpec,
  callbacks: readonly string[],
  secretFile: string,
): Promise<RunningProvider> {
  const real = await serveIdentityProvider({
    redirectUris: [...callbacks],
    ...(tokenLifetime !== undefined && { tokenLifetime }),
  });
  const client = { client_id: GATEWAY_CLIENT.id, client_secret_file: secretFile };
  return {
    name,
    host: new URL(real.issuer).host,
    issuer: real.issuer,
    tokenUrl: real.tokenUrl,
    upstream: { type: 'oidc', name, required, ...more, oidc_config: { ...client, issuer_url: real.issuer } },
    secret: GATEWAY_CLIENT.secret,
    real,
    odd: undefined,
    close: () => real.close(),
  };
}

async function startOdd(
  { name, required = true, options = {}, isUnnamed = false, more }: ProviderSpec,
  secretFile: string,
): Promise<RunningProvider> {
  const odd = await serveOAuthProvider(options);
  return {
    name,
    host: odd.host,
    issuer: odd.issuer,
    tokenUrl: `${odd.issuer}/token`,
    upstream: { ...more, ...upstreamOf(odd, { name, required, options, isUnnamed }, secretFile) },
    secret: options.clientSecret ?? CLIENT_SECRET,
    real: undefined,
    odd,
    close: () => odd.close(),
  };
}

function upstreamOf(
  { issuer }: OAuthProvider,
  {
    name,
    required,
    options,
    isUnnamed,
  }: { name: string; required: boolean; options: OAuthProviderOptions; isUnnamed: boolean },
  secretFile: string,
): UpstreamDocument {
  const client = { client_id: CLIENT_ID, client_secret_file: secretFile };
  if (options.oidc === true) {
    return { type: 'oidc', name, required, oidc_config: { ...client, issuer_url: issuer } };
  }
  return {
    type: 'oauth2',
    name,
    required,
    oauth2_config: {
      ...client,
      authorization_endpoint: `${issuer}/authorize`,
      token_endpoint: `${issuer}/token`,
      ...(options.answers === 'nested' ? NESTED : isUnnamed ? {} : withUserInfo(issuer)),
    },
  };
}

const withUserInfo = (issuer: string) => ({
  userinfo: {
    endpoint_url: `${issuer}/userinfo`,
    field_mapping: { subject_fields: ['account.number'], name_fields: ['account.label'], email_fields: ['mail'] },
  },
});

/** Returns the owner of a token that a backend got: by the token itself, or by the provider's records. */
export function accountAt({ odd }: RunningProvider, { subject, tokenHash }: Caller): string | undefined {
  if (odd === undefined) return subject ?? undefined;
  return odd.issued().find(([token]) => shortHash(token) === tokenHash)?.[1];
}
