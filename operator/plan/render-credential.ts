import type { MCPExternalAuthConfig } from '#crds/kinds/index';
import { nearest } from '#crds/parts/nearest';
import type { SecretKeyRef } from '#crds/parts/references';
import type { RunConfigDocument } from '#crds/run-config/run-config';
import { Stalled } from '../errors.ts';
import { defined } from './defined.ts';
import type { FileList } from './file-list.ts';

export type AuthDocument = NonNullable<RunConfigDocument['backends'][number]['auth']>;

type Spec = MCPExternalAuthConfig['spec'];

interface Source {
  spec: Spec;
  providers: string[];
  byItself: boolean;
  incoming: RunConfigDocument['incoming'];
  files: FileList;
  place: string;
}

function block<T>(written: T | undefined, { place, spec }: Source): T {
  if (written === undefined)
    throw new Stalled('InvalidSpec', `${place} of type ${spec.type} lacks its block: write it`);
  return written;
}

function knownProvider(name: string, field: string, { providers, place }: Source): string {
  if (providers.includes(name)) return name;
  const meant = nearest(name, providers);
  const known =
    meant === undefined ? `one of ${providers.join(', ')}` : `"${meant}" (there is: ${providers.join(', ')})`;
  const remedy =
    providers.length === 0
      ? 'this VirtualMCPServer has no authServerConfig: add it with that provider, or use another type'
      : `write ${known}`;
  const message = `${place}: ${field} "${name}" is not among authServerConfig.upstreamProviders: ${remedy}`;
  throw new Stalled('ProviderNotFound', message);
}

/** Rejects a token exchange for anonymous callers, who bring no token. @throws Stalled */
function checkCallerToken({ incoming, place, spec }: Source): void {
  if (incoming.type !== 'anonymous') return;
  const message = `${place} of type ${spec.type} needs the caller's own token, which no caller has with incomingAuth.type anonymous: write incomingAuth.type oidc`;
  throw new Stalled('CallersHaveNoToken', message);
}

function renderTokenExchange(source: Source): AuthDocument {
  const config = block(source.spec.tokenExchange, source);
  if (config.subjectProviderName === undefined) checkCallerToken(source);
  const { files, place } = source;
  const secret = config.clientSecretRef && files.credential(config.clientSecretRef, `${place} clientSecretRef`);
  const provider = config.subjectProviderName;
  return defined({
    type: 'token_exchange' as const,
    token_url: config.tokenUrl,
    client_id: config.clientId,
    client_secret_file: secret,
    audience: config.audience,
    scopes: config.scopes,
    subject_token_type: config.subjectTokenType,
    subject_provider_name:
      provider === undefined ? undefined : knownProvider(provider, 'tokenExchange.subjectProviderName', source),
    external_token_header_name: config.externalTokenHeaderName,
    ca_bundle_file: config.caBundleRef && files.authorities(config.caBundleRef, `${place} caBundleRef`),
  });
}

function renderXaa(source: Source): AuthDocument {
  const config = block(source.spec.xaa, source);
  const { files, place, providers } = source;
  const provider = config.subjectProviderName ?? providers[0];
  if (provider === undefined) {
    const message = `${place} of type xaa needs the ID token that a provider gave the caller: behind a VirtualMCPServer, write authServerConfig.upstreamProviders`;
    throw new Stalled('ProviderNotFound', message);
  }
  const secret = (ref: SecretKeyRef | undefined, field: string) =>
    ref && files.credential(ref, `${place} xaa.${field}`);
  return defined({
    type: 'xaa' as const,
    idp_token_url: config.idpTokenUrl,
    idp_client_id: config.idpClientId,
    idp_client_secret_file: secret(config.idpClientSecretRef, 'idpClientSecretRef'),
    target_token_url: config.targetTokenUrl,
    target_client_id: config.targetClientId,
    target_client_secret_file: secret(config.targetClientSecretRef, 'targetClientSecretRef'),
    target_audience: config.targetAudience,
    target_resource: config.targetResource,
    scopes: config.scopes,
    subject_provider_name: knownProvider(provider, 'xaa.subjectProviderName', source),
    subject_token_type: config.subjectTokenType,
    insecure_target_token_url: config.insecureTargetTokenUrl,
    ca_bundle_file: config.caBundleRef && files.authorities(config.caBundleRef, `${place} xaa.caBundleRef`),
  });
}

function renderClientCredentials(source: Source): AuthDocument {
  const config = block(source.spec.clientCredentials, source);
  const { files } = source;
  const place = `${source.place} clientCredentials`;
  const { clientSecretRef: secret, privateKeyRef: key, caBundleRef: authorities } = config;
  return defined({
    type: 'client_credentials' as const,
    token_url: config.tokenUrl,
    client_id: config.clientId,
    client_secret_file: secret && files.credential(secret, `${place}.clientSecretRef`),
    private_key_file: key && files.secret(key, `${place}.privateKeyRef`, ['no signing key']),
    private_key_id: config.privateKeyId,
    issuer: config.issuer,
    audience: config.audience,
    resource: config.resource,
    scopes: config.scopes,
    external_token_header_name: config.externalTokenHeaderName,
    ca_bundle_file: authorities && files.authorities(authorities, `${place}.caBundleRef`),
  });
}

function renderAwsSts(source: Source): AuthDocument {
  const config = block(source.spec.awsSts, source);
  checkCallerToken(source);
  return defined({
    type: 'aws_sts' as const,
    region: config.region,
    service: config.service,
    role_claim: config.roleClaim,
    role_mappings: config.roleMappings?.map(({ claim, matcher, priority, roleArn }) =>
      defined({ claim, matcher, priority, role_arn: roleArn }),
    ),
    fallback_role_arn: config.fallbackRoleArn,
    session_duration: config.sessionDuration,
    session_name_claim: config.sessionNameClaim,
  });
}

/** Renders a swap: the authorization server of the same document supplies the token of its one provider. */
function swapToken(source: Source): AuthDocument {
  const { upstreamProviders, headerStrategy, customHeaderName } = block(source.spec.embeddedAuthServer, source);
  return defined({
    type: 'upstream_inject' as const,
    provider_name: upstreamProviders[0]?.name ?? '',
    header_strategy: headerStrategy,
    custom_header_name: customHeaderName,
  });
}

const strategies: Record<Spec['type'], (source: Source) => AuthDocument> = {
  unauthenticated: () => ({ type: 'unauthenticated' }),
  headerInjection(source) {
    const { headerName, valueSecretRef } = block(source.spec.headerInjection, source);
    const file = source.files.headerValue(valueSecretRef, `${source.place} headerInjection.valueSecretRef`);
    return { type: 'header_injection', header_name: headerName, value_file: file };
  },
  bearerToken(source) {
    const { tokenSecretRef } = block(source.spec.bearerToken, source);
    const file = source.files.headerValue(tokenSecretRef, `${source.place} bearerToken.tokenSecretRef`);
    return { type: 'bearer_token', token_file: file };
  },
  tokenExchange: renderTokenExchange,
  xaa: renderXaa,
  clientCredentials: renderClientCredentials,
  upstreamInject(source) {
    const { providerName } = block(source.spec.upstreamInject, source);
    const provider = knownProvider(providerName, 'upstreamInject.providerName', source);
    return { type: 'upstream_inject', provider_name: provider };
  },
  awsSts: renderAwsSts,
  embeddedAuthServer(source) {
    const { place, byItself } = source;
    if (byItself) return swapToken(source);
    const message = `${place} of type embeddedAuthServer is for an MCPServer by itself: use upstreamInject behind a VirtualMCPServer`;
    throw new Stalled('EmbeddedAuthServerBehindServer', message);
  },
};

/** `around`: providers and boundary 1 of the same document. @throws Stalled for settings that do not fit; Waiting for missing secrets */
export function renderCredential(
  name: string,
  spec: Spec,
  deps: Pick<Source, 'providers' | 'byItself' | 'incoming'>,
  files: FileList,
): AuthDocument {
  const place = `MCPExternalAuthConfig "${name}"`;
  return strategies[spec.type]({ spec, ...deps, files, place });
}
